package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/lenient"
)

// collectTimeout is how long a scrape waits for the cache.
const collectTimeout = 5 * time.Second

var (
	desiredReplicas = prometheus.NewDesc("memcached_operator_desired_replicas",
		"How many replicas the spec of a Memcached asks for.", []string{"namespace", "name"}, nil)

	readyReplicas = prometheus.NewDesc("memcached_operator_ready_replicas",
		"How many replicas of a Memcached are ready, according to its status.", []string{"namespace", "name"}, nil)

	condition = prometheus.NewDesc("memcached_operator_condition",
		"Whether a condition of a Memcached is true (1) or not (0).", []string{"namespace", "name", "type"}, nil)

	undecodable = prometheus.NewDesc("memcached_operator_undecodable",
		"Whether a Memcached can't be decoded (1), so that it is not served. One that can be has no such metric.",
		[]string{"namespace", "name"}, nil)

	// conditionTypes are the conditions that have a metric. Conditions of others could have any name.
	conditionTypes = map[string]bool{
		cachev1alpha1.ConditionAvailable: true, cachev1alpha1.ConditionProgressing: true, cachev1alpha1.ConditionDegraded: true,
	}
)

// Collector reads the Memcacheds when it is scraped, so no metric has to be updated, or removed when a Memcached is deleted.
type Collector struct {
	// Reader reads from a cache.
	Reader client.Reader
	// Registry is where the collector registers while it runs.
	Registry prometheus.Registerer
}

// Start registers the metrics until ctx is done. A manager starts it once it leads and its caches are filled, so only one of
// several replicas reports a Memcached.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.Registry.Register(c); err != nil {
		return err
	}
	<-ctx.Done()
	c.Registry.Unregister(c)
	return nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- desiredReplicas
	descriptions <- readyReplicas
	descriptions <- condition
	descriptions <- undecodable
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	memcacheds := lenient.Reader{Reader: c.Reader}
	err := memcacheds.ListEach(ctx, func(mc *cachev1alpha1.Memcached, err error) {
		if bad := new(lenient.UndecodableError); errors.As(err, &bad) {
			metrics <- prometheus.MustNewConstMetric(undecodable, prometheus.GaugeValue, 1, bad.Object.Namespace, bad.Object.Name)
			return
		}
		size := cachev1alpha1.DefaultSize
		if mc.Spec.Size != nil {
			size = *mc.Spec.Size
		}
		gauge := func(description *prometheus.Desc, value float64, labels ...string) {
			labels = append([]string{mc.Namespace, mc.Name}, labels...)
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
		}
		gauge(desiredReplicas, float64(size))
		gauge(readyReplicas, float64(mc.Status.ReadyReplicas))
		for _, reported := range mc.Status.Conditions {
			if !conditionTypes[reported.Type] {
				continue
			}
			value := 0.0
			if reported.Status == metav1.ConditionTrue {
				value = 1
			}
			gauge(condition, value, reported.Type)
		}
	})
	if err != nil {
		// The scrape still returns the other metrics.
		logf.Log.WithName("metrics").Error(err, "Listing the Memcacheds")
	}
}
