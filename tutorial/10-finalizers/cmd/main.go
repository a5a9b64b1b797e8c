// Command manager is the operator of the FlightTickets: it books a flight for each, at an airline outside of the cluster,
// and cancels it when the ticket is deleted.
//
// It talks to the cluster of --kubeconfig, $KUBECONFIG, the pod that it runs in, or ~/.kube/config, and to the airline at $AIRLINE.
package main

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	flightsv1 "github.com/example/operator-testbed/tutorial/10-finalizers/api/v1"
	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/airline"
	"github.com/example/operator-testbed/tutorial/10-finalizers/internal/controller"
)

// fieldManager is the name that the API server records as the manager of the fields that the operator sets.
const fieldManager = "flight-operator"

// airlineTimeout is how long the airline may take for an answer. A worker that waits indefinitely serves no other ticket.
const airlineTimeout = 10 * time.Second

func main() {
	probeAddress := flag.String("health-probe-bind-address", ":8081", "The address of /healthz and /readyz; 0 turns them off.")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	if err := run(*probeAddress, airline.Client{URL: airline.Address(), Timeout: airlineTimeout}); err != nil {
		ctrl.Log.Error(err, "The manager has ended")
		os.Exit(1)
	}
}

// run runs the operator until a signal stops it.
func run(probeAddress string, books airline.Client) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := flightsv1.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: probeAddress,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // none in this chapter
	})
	if err != nil {
		return err
	}
	reconciler := &controller.FlightTicketReconciler{Client: client.WithFieldOwner(manager.GetClient(), fieldManager), Airline: books}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	ready, err := cacheFilled(ctx, manager.GetCache())
	if err != nil {
		return err
	}
	if err := errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("cache", ready)); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// cacheFilled returns a check that succeeds when the cache has all tickets.
func cacheFilled(ctx context.Context, objects cache.Cache) (healthz.Checker, error) {
	if _, err := objects.GetInformer(ctx, &flightsv1.FlightTicket{}, cache.BlockUntilSynced(false)); err != nil {
		return nil, err
	}
	return func(request *http.Request) error {
		// This waits no longer than the client of the probe does.
		if !objects.WaitForCacheSync(request.Context()) {
			return errors.New("the cache does not have all tickets yet")
		}
		return nil
	}, nil
}
