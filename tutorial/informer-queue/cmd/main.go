// Command manager is the operator of the FlightTickets: it books a flight for each, at an airline outside of the cluster.
//
// It talks to the cluster of $KUBECONFIG, or of the pod that it runs in, and to the airline at $AIRLINE.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/operator-testbed/tutorial/informer-queue/internal/airline"
	"github.com/example/operator-testbed/tutorial/informer-queue/internal/controller"
)

// workers is how many tickets are worked on at a time.
const workers = 2

func main() {
	probeAddress := flag.String("health-probe-bind-address", ":8081", "The address of /healthz and /readyz.")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *probeAddress, airline.Address())
	stop()
	if err != nil {
		slog.Error("The operator has ended", "error", err)
		os.Exit(1)
	}
}

// run runs the operator until a signal stops it.
func run(ctx context.Context, probeAddress, airlineURL string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	c, err := controller.New(client, airline.Client{URL: airlineURL})
	if err != nil {
		return err
	}
	probes := &http.Server{Addr: probeAddress, Handler: health(c), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		failed <- probes.ListenAndServe()
		cancel()
	}()
	err = c.Run(ctx, workers)
	_ = probes.Close() // nobody waits for an answer any more
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// health answers the probes: alive, and ready when the cache has all tickets.
func health(c *controller.Controller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.Ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}
