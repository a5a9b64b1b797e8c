// Package metrics exports what Prometheus reads about Memcacheds and about the operator's writes, in addition to the metrics of
// controller-runtime.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	// DeploymentWrites counts the requests with which the operator changed a Deployment.
	DeploymentWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "memcached_operator_deployment_writes_total",
		Help: "Requests that changed a Deployment, by operation: create, take-over (of fields that others set), apply.",
	}, []string{"operation"})

	// StatusWrites counts the requests with which the operator changed the status of a Memcached.
	StatusWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "memcached_operator_status_writes_total",
		Help: "Requests that changed the status of a Memcached.",
	})

	// WebhookErrors counts the admission requests that the operator could not decide. The metrics of controller-runtime do not: it
	// answers every request with the HTTP status 200, and says in the body what went wrong.
	WebhookErrors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "memcached_operator_webhook_errors_total",
		Help: "Admission requests that failed because of the operator, by the path of the webhook. Refusals are not included.",
	}, []string{"webhook"})

	// TimeToAvailable is the time from the creation of a Memcached until it is Available for the first time. Memcacheds that had
	// a status before the operator started are not included.
	TimeToAvailable = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "memcached_operator_time_to_available_seconds",
		Help: "Time from the creation of a Memcached, which is known to the second, until it is Available for the first time.",
		// Creation times are in whole seconds, so nothing shorter than a second can be measured. The longest is for a slow registry.
		Buckets: []float64{1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800},
	})
)

// The operations of DeploymentWrites.
const (
	OperationCreate   = "create"
	OperationTakeOver = "take-over"
	OperationApply    = "apply"
)

func init() {
	for _, operation := range []string{OperationCreate, OperationTakeOver, OperationApply} {
		DeploymentWrites.WithLabelValues(operation) // so that each is 0 before it is counted
	}
	metrics.Registry.MustRegister(DeploymentWrites, StatusWrites, WebhookErrors, TimeToAvailable)
}
