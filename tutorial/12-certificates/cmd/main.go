// Command manager is the Memcached operator: it keeps a Deployment of memcached for each Memcached of the cluster.
//
// It talks to the cluster of --kubeconfig, $KUBECONFIG, the pod that it runs in, or ~/.kube/config.
package main

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
	"github.com/example/operator-testbed/tutorial/12-certificates/internal/controller"
)

// defaultImage is the image of memcached if $MEMCACHED_IMAGE is not set.
const defaultImage = "docker.io/library/memcached:1.6.39-alpine"

// options are what a user can say to the operator.
type options struct {
	probeAddress, metricsAddress string

	namespaces    string
	leaderElect   bool
	leaseDuration time.Duration

	webhookAddress                         string
	authorityDuration, certificateDuration time.Duration
	maxTotalSize                           int64

	// From the environment: the operator's own namespace, the image of memcached, and whether there are webhooks.
	namespace, image string
	webhooks         bool
}

func main() {
	o := options{
		namespace: os.Getenv("POD_NAMESPACE"),
		image:     cmp.Or(os.Getenv("MEMCACHED_IMAGE"), defaultImage),
		webhooks:  os.Getenv("ENABLE_WEBHOOKS") != "false",
	}
	flag.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "The address of /healthz and /readyz; 0 turns them off.")
	flag.StringVar(&o.metricsAddress, "metrics-bind-address", "0", "The address of /metrics, over HTTPS, for those who may read them; 0 turns it off.")
	flag.StringVar(&o.namespaces, "namespaces", "", "The namespaces to serve, separated by commas; all if empty.")
	flag.BoolVar(&o.leaderElect, "leader-elect", false, "Elect one of several replicas, which alone works. The lease is in the namespace $POD_NAMESPACE.")
	flag.DurationVar(&o.leaseDuration, "leader-election-lease-duration", 15*time.Second, "How long the others wait for a leader that is silent.")
	flag.StringVar(&o.webhookAddress, "webhook-bind-address", ":9443", "The address of the webhooks. ENABLE_WEBHOOKS=false turns them off.")
	flag.DurationVar(&o.authorityDuration, "webhook-ca-duration", 365*24*time.Hour, "How long the operator's certificate authority is valid.")
	flag.DurationVar(&o.certificateDuration, "webhook-certificate-duration", 7*24*time.Hour, "How long its certificates are valid. Both are replaced after two thirds of their time.")
	flag.Int64Var(&o.maxTotalSize, "max-total-size-per-namespace", 0, "The sum that the sizes of all Memcacheds of a namespace may have; 0 means no limit. Requests at the same moment may exceed it together.")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	if err := run(o); err != nil {
		ctrl.Log.Error(err, "The manager has ended")
		os.Exit(1)
	}
}

// run runs the operator until a signal stops it.
func run(o options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	webhooks, err := newWebhooks(o)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, managerOptions(o, webhooks, scheme))
	if err != nil {
		return err
	}
	reconciler := &controller.MemcachedReconciler{
		Client:   manager.GetClient(),
		Recorder: manager.GetEventRecorder("memcached-controller"),
		Image:    o.image,
	}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	ready, err := cachesFilled(ctx, manager.GetCache())
	if err != nil {
		return err
	}
	// A process that answers is alive. It is ready once it can serve Memcacheds.
	if err := errors.Join(manager.AddHealthzCheck("ping", healthz.Ping), manager.AddReadyzCheck("caches", ready)); err != nil {
		return err
	}
	if err := webhooks.serve(manager, o.maxTotalSize); err != nil {
		return err
	}
	return manager.Start(ctx)
}
