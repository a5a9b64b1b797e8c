package bench

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// customResources is how many of them a used cluster has.
const customResources = 5

// measureResets measures how long it takes to make a used cluster as new again, and to prove that it is clean.
func (r *Report) measureResets(ctx context.Context, o ClusterOptions) (err error) {
	cluster := o.newCluster()
	starting := &run{name: "resets", progress: o.Progress}
	if _, err := starting.create(ctx, "the embedded cluster starts", cluster); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Destroy(context.WithoutCancel(ctx))) }()
	return r.measure(o.Progress, resets, func(r *run) error {
		if err := use(ctx, cluster.KubernetesRestConfig()); err != nil {
			return err
		}
		took, err := r.time("reset", func() error { return cluster.Reset(ctx) })
		r.keepTime(embeddedReset, took)
		return err
	})
}

// use leaves in a cluster what a suite leaves: a Deployment that is Available, and custom resources in a namespace.
func use(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	errs := []error{untilAvailable(ctx, config), c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "used"}})}
	for i := range customResources {
		object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
			"namespace": "used", "name": fmt.Sprintf("used-%d", i), "finalizers": []any{"example.com/nobody"},
		}}}
		object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
		errs = append(errs, c.Create(ctx, object))
	}
	return errors.Join(errs...)
}
