package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
)

const (
	// resetLimit is in milliseconds.
	resetLimit = 300
	// resets is how often one cluster is made as new.
	resets = 20
	// customResources is how many of them are there each time.
	customResources = 5
)

// AddReset measures how long it takes to make a used cluster as new again and to prove it clean, and adds that to the report.
func (r *Report) AddReset(ctx context.Context, o ClusterOptions) error {
	samples, err := measureResets(ctx, o)
	if err != nil {
		return fmt.Errorf("measure the reset: %w", err)
	}
	measure := newMeasure("embedded: Reset", "ms", samples)
	r.Measures = append(r.Measures, measure)
	r.Aims = append(r.Aims, NewAim(fmt.Sprintf("reset (median of %d)", resets), measure.Median, resetLimit, measure.Unit))
	return nil
}

// measureResets returns how long each reset of one cluster took, in milliseconds. The first one warms it up, and is left out.
func measureResets(ctx context.Context, o ClusterOptions) (samples []float64, err error) {
	cluster := embedded.NewProvider()
	cluster.WithName(clusterName).WithPath(o.Assets).WithOpts(embedded.WithCRDs(o.CRDs))
	if _, err = telling(o.Progress, "the embedded cluster starts, to be reset", func() error {
		_, err := cluster.Create(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx))) }()
	return repeated(o.Progress, "reset", resets, func() (time.Duration, error) {
		if err := use(ctx, cluster.KubernetesRestConfig()); err != nil {
			return 0, err
		}
		begin := time.Now()
		err := cluster.Reset(ctx)
		return time.Since(begin), err
	})
}

// use leaves in a cluster what a suite does: a Deployment that is Available, and custom resources in a namespace.
func use(ctx context.Context, config *rest.Config) error {
	if err := untilAvailable(ctx, config); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "used"}}}
	for i := range customResources {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
		object.SetNamespace("used")
		object.SetName(fmt.Sprintf("used-%d", i))
		object.SetFinalizers([]string{"example.com/nobody"})
		objects = append(objects, object)
	}
	for _, object := range objects {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}
