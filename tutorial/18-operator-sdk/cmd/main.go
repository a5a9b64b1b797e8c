// Command manager is the Memcached operator: it keeps a Deployment of memcached for each Memcached of the cluster.
//
// It talks to the cluster of --kubeconfig, $KUBECONFIG, the pod that it runs in, or ~/.kube/config.
package main

import (
	"cmp"
	"errors"
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/18-operator-sdk/api/v1alpha1"
	"github.com/example/operator-testbed/tutorial/18-operator-sdk/internal/controller"
)

// defaultImage is the image of memcached if $MEMCACHED_IMAGE is not set.
const defaultImage = "docker.io/library/memcached:1.6.39-alpine"

func main() {
	probeAddress := flag.String("health-probe-bind-address", ":8081", "The address of /healthz and /readyz; 0 turns them off.")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	if err := run(*probeAddress, cmp.Or(os.Getenv("MEMCACHED_IMAGE"), defaultImage)); err != nil {
		ctrl.Log.Error(err, "The manager has ended")
		os.Exit(1)
	}
}

// run runs the operator until a signal stops it.
func run(probeAddress, image string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
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
	reconciler := &controller.MemcachedReconciler{
		Client:   manager.GetClient(),
		Scheme:   manager.GetScheme(),
		Recorder: manager.GetEventRecorder("memcached-controller"),
		Image:    image,
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return err
	}
	if err := errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
