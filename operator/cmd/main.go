// Command manager is the Memcached operator: it keeps a Deployment of memcached for each Memcached of the cluster.
//
// It connects to the cluster of --kubeconfig, $KUBECONFIG, the pod that it runs in, or ~/.kube/config, whichever it finds first.
// It exits with code 0 after SIGTERM or SIGINT, 2 when its flags or its environment are invalid, and 1 when it fails.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/leadership"
)

func main() {
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main without access to globals of the process. It returns the exit code.
func run(arguments []string, getenv func(string) string, stdout, stderr io.Writer) int {
	options, err := parseOptions(arguments, getenv, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "manager: %v\n", err)
		return 2
	}
	log := zap.New(zap.UseFlagOptions(&options.log))
	ctrl.SetLogger(log)
	if err := serve(options, log); err != nil {
		fmt.Fprintf(stderr, "manager: %v\n", err)
		return 1
	}
	return 0
}

// clusterConfig returns the configuration for connecting to the cluster.
func clusterConfig() (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w: name a kubeconfig with KUBECONFIG or --kubeconfig", err)
	}
	// An API server compresses each event of a watch separately, which saves little and takes much CPU time on both sides. The
	// controllers of Kubernetes disable compression too (cmd/kube-controller-manager/app/options in k8s.io/kubernetes).
	config.DisableCompression = true
	return config, nil
}

// serve runs the operator until it receives a signal to stop.
func serve(options options, log logr.Logger) error {
	config, err := clusterConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	certificate, err := newCertificate(options)
	if err != nil {
		return err
	}
	manager, err := leadership.NewManager(config, managerOptions(options, certificate, scheme, log))
	if err != nil {
		return err
	}

	ctx := ctrl.SetupSignalHandler()
	if err := newReconciler(options, manager).SetupWithManager(ctx, manager); err != nil {
		return err
	}
	// The process is alive as soon as it responds, and ready once its caches have synced.
	synced, err := cachesSynced(ctx, manager.GetCache())
	if err != nil {
		return err
	}
	if err := errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("caches", synced)); err != nil {
		return err
	}
	if err := serveWebhooks(manager, options, certificate); err != nil {
		return err
	}
	log.Info("Starting", "image", options.image, "namespaces", options.namespaces, "webhooks", options.webhooks.enabled)
	return manager.Start(ctx)
}
