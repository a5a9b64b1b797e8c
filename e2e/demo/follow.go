package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/record"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// overtaking is how long a version waits for older ones. There is one watch for
// each kind, and they deliver independently of each other: without the wait, a
// verdict could be shown before what it is about.
const overtaking = 30 * time.Millisecond

// Follow calls see with the state of a Memcached as it is, and then after every
// change, in the order in which the API server made the changes. It returns when
// see has seen enough or returns an error, or when ctx ends, with ctx's
// cause. If the API server goes away and comes back, Follow continues.
func Follow(ctx context.Context, config *rest.Config, memcached types.NamespacedName, see func(State) (enough bool, err error)) error {
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	recorder, err := record.Start(ctx, c, memcached.Namespace, cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Pod"))
	if err != nil {
		return err
	}
	defer recorder.Stop()
	existing := objects{}
	versions := recorder.Versions()
	count := len(versions)
	for _, v := range versions {
		existing.apply(v)
	}
	enough, err := see(Observe(memcached, maps.Values(existing)))
	for !enough && err == nil {
		if versions, err = collect(ctx, count, recorder.Since); err != nil {
			return err
		}
		count += len(versions)
		for _, v := range versions {
			existing.apply(v)
			if enough, err = see(Observe(memcached, maps.Values(existing))); enough || err != nil {
				break
			}
		}
	}
	return err
}

// collect waits for versions after the first n, and returns them with those that
// follow closely, in the order of their revisions.
func collect(ctx context.Context, n int, since func(context.Context, int) ([]record.Version, error)) ([]record.Version, error) {
	if _, err := since(ctx, n); err != nil {
		return nil, err
	}
	select {
	case <-time.After(overtaking):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	versions, err := since(ctx, n)
	slices.SortStableFunc(versions, func(a, b record.Version) int { return cmp.Compare(a.Revision, b.Revision) })
	return versions, err
}

// objects are those that exist, as far as seen.
type objects map[types.UID]*unstructured.Unstructured

func (o objects) apply(v record.Version) {
	o[v.Object.GetUID()] = v.Object
	if v.Deleted {
		delete(o, v.Object.GetUID())
	}
}
