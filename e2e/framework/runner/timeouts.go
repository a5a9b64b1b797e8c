package runner

import (
	"time"
)

// Timeouts are safety nets: what is waited for takes a fraction of them, unless the machine has much else to do.
const (
	// readyTimeout bounds the wait for the operator's readiness probe to succeed, and for it to print its flags.
	readyTimeout = 60 * time.Second
	// deployTimeout bounds the wait for the pods of an operator that is deployed, and for its webhooks.
	deployTimeout = 3 * time.Minute
	// gracePeriod is how long a process may take to exit after a SIGTERM: what a kubelet would give it by the manager's
	// terminationGracePeriodSeconds in kubebuilder's layout.
	gracePeriod = 10 * time.Second
	// deployedProbeSeconds is how long a kubelet's probe of a deployed operator waits for an answer; the default is one second.
	deployedProbeSeconds = 10
	// withdrawalTime is the time between the signal that stops a replica and the end of its endpoint. In a cluster, controllers and
	// kube-proxy take as long to carry the news, or longer. An operator has to serve until then.
	withdrawalTime = 200 * time.Millisecond
	// askAgain is the pause between two requests where there is nothing to watch, such as for a readiness probe.
	askAgain = 20 * time.Millisecond
	// tokenLifetime is how long a process on the host can work with the token it starts with. Nobody renews it, as a kubelet
	// would, so it outlives any lesson. The token is worth nothing once its cluster or its ServiceAccount is gone.
	tokenLifetime = 7 * 24 * time.Hour
)

// withdrawal returns when the endpoint of a replica is withdrawn that has got a signal to stop.
var withdrawal = func() { <-time.After(withdrawalTime) }
