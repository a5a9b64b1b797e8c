// Command airline is an airline on this machine. It prints what it books, and forgets it when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/example/operator-testbed/tutorial/02-informer-queue/internal/airline"
)

func main() {
	address := flag.String("address", "127.0.0.1:8088", "where it takes bookings")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *address)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "airline: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("The airline takes bookings at http://%s\n", listener.Addr())
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: airline.NewServer(func(b airline.Booking) {
		fmt.Printf("%s: %d from %s to %s\n", b.Name, b.Flight.Number, b.Flight.From, b.Flight.To)
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // who waits for an answer asks again
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
