package main

import (
	"maps"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/example/operator-testbed/operator/internal/controller"
	"github.com/example/operator-testbed/operator/internal/lenient"
)

// leaseName is the name of the Lease that the leader holds.
const leaseName = "memcached-operator.cache.example.com"

// managerOptions returns the options of the manager.
func managerOptions(o options, c certificate, scheme *runtime.Scheme, log logr.Logger) ctrl.Options {
	return ctrl.Options{
		Scheme:                 scheme,
		Logger:                 log,
		Cache:                  cacheOptions(o, c),
		NewCache:               lenient.NewCache,
		HealthProbeBindAddress: o.healthProbeAddress,
		Metrics:                metricsOptions(o, c),
		WebhookServer:          &drainingServer{Server: webhook.NewServer(webhook.Options{Host: o.webhooks.host, Port: o.webhooks.port, TLSOpts: c.tlsOptions()})},
		Controller: config.Controller{
			MaxConcurrentReconciles: o.maxConcurrentReconciles,
			ReconciliationTimeout:   o.reconciliationTimeout,
			// A replica fills its caches before it becomes the leader.
			EnableWarmup: new(true),
		},
		LeaderElection:          o.leaderElection.enabled,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.leaderElection.namespace,
		LeaseDuration:           &o.leaderElection.leaseDuration,
		RenewDeadline:           &o.leaderElection.renewDeadline,
		RetryPeriod:             &o.leaderElection.retryPeriod,
		// The process exits as soon as the manager stops, so it writes nothing after it has released the lease, and the next
		// leader need not wait until the lease expires.
		LeaderElectionReleaseOnCancel: true,
	}
}

// failureGrace is how long a failing write of a Deployment is retried before a status reports it: longer than it takes to replace a
// webhook's pod, or to elect another leader of etcd.
const failureGrace = time.Second

// newReconciler returns the reconciler for the options, with the manager's clients.
func newReconciler(o options, manager ctrl.Manager) *controller.MemcachedReconciler {
	return &controller.MemcachedReconciler{
		Client:          manager.GetClient(),
		APIReader:       manager.GetAPIReader(),
		Image:           o.image,
		OmitRunAsUser:   o.omitRunAsUser,
		RecheckInterval: o.recheckInterval,

		ProgressDeadline: o.progressDeadline,
		ProgressInterval: o.progressInterval,
		FailureGrace:     failureGrace,
	}
}

// cacheOptions returns the options of the cache: which objects it holds, and of which namespaces.
func cacheOptions(o options, c certificate) cache.Options {
	result := controller.CacheOptions()
	if c.own != nil {
		maps.Copy(result.ByObject, c.own.CacheByObject())
	}
	for _, namespace := range o.namespaces {
		if result.DefaultNamespaces == nil {
			result.DefaultNamespaces = map[string]cache.Config{}
		}
		result.DefaultNamespaces[namespace] = cache.Config{}
	}
	return result
}

// metricsOptions returns the options of the metrics server.
func metricsOptions(o options, c certificate) metricsserver.Options {
	result := metricsserver.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if o.metricsSecure {
		result.FilterProvider = filters.WithAuthenticationAndAuthorization
		result.TLSOpts = c.tlsOptions()
	}
	return result
}
