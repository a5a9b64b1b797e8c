package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// managerOptions says how the manager runs.
func managerOptions(o options, server webhook.Server, scheme *runtime.Scheme) ctrl.Options {
	// What client-go has for 15 seconds, in proportion: when a leader gives up that can't renew its lease, and how often a
	// replica tries.
	renewDeadline, retryPeriod := o.leaseDuration*2/3, o.leaseDuration*2/15
	return ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cache.Options{DefaultNamespaces: scope(o.namespaces)},
		HealthProbeBindAddress: o.probeAddress,
		Metrics: metricsserver.Options{
			BindAddress:   o.metricsAddress,
			SecureServing: true,
			// The API server authenticates and authorizes the clients.
			FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		WebhookServer:           server,
		LeaderElection:          o.leaderElect,
		LeaderElectionID:        "memcached-operator.cache.example.com",
		LeaderElectionNamespace: o.namespace,
		LeaseDuration:           &o.leaseDuration,
		RenewDeadline:           &renewDeadline,
		RetryPeriod:             &retryPeriod,
		// The process exits as soon as the manager stops, so the next leader does not have to wait until the lease expires.
		LeaderElectionReleaseOnCancel: true,
	}
}

// scope returns the namespaces that the cache watches, given their names separated by commas. No name means all namespaces.
func scope(namespaces string) map[string]cache.Config {
	if namespaces == "" {
		return nil
	}
	result := map[string]cache.Config{}
	for namespace := range strings.SplitSeq(namespaces, ",") {
		result[namespace] = cache.Config{}
	}
	return result
}
