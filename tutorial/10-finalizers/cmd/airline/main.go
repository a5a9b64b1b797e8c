// Command airline is an airline on this machine, at $AIRLINE. It prints what it books and cancels, and forgets it when it
// ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, airline.Address())
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "airline: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string) error {
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", at.Host)
	if err != nil {
		return err
	}
	fmt.Printf("The airline takes bookings at %s\n", address)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: airline.NewServer(
		func(b airline.Booking) {
			fmt.Printf("%s: %d from %s to %s\n", b.Name, b.Flight.Number, b.Flight.From, b.Flight.To)
		},
		func(b airline.Booking) { fmt.Printf("%s: canceled\n", b.Name) },
	)}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // who waits for an answer asks again
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
