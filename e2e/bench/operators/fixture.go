package operators

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// parallelRequests is how many requests are made at once.
const parallelRequests = 16

// timeout is how long all objects may take, for anything. Operators that start programs for their work get patientTimeout.
const (
	timeout        = 15 * time.Minute
	patientTimeout = 45 * time.Minute
)

// fixture is a cluster with a namespace, and what a measurement needs to work there with n objects.
type fixture struct {
	options Options
	n       int
	cluster *embedded.Provider
	config  *rest.Config
	client  client.WithWatch
	audit   *audit.Log
	// timeout is how long all objects may take, for anything.
	timeout time.Duration
}

func newFixture(ctx context.Context, cluster *embedded.Provider, o Options, n int) (*fixture, error) {
	config := cluster.KubernetesRestConfig()
	c, err := client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, err
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	if o.PodsReadyAfter > 0 {
		if err := delayPods(ctx, c, o.PodsReadyAfter); err != nil {
			return nil, fmt.Errorf("make pods take %s until they are ready: %w", o.PodsReadyAfter, err)
		}
	}
	return &fixture{options: o, n: n, cluster: cluster, config: config, client: c, audit: audit.Open(cluster.AuditLog()), timeout: timeout}, nil
}

func (f *fixture) say(format string, args ...any) {
	fmt.Fprintf(f.options.Progress, "  "+format+"\n", args...)
}

// each calls do for the names of n objects, for some at once.
func each(ctx context.Context, n int, do func(ctx context.Context, name string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	for i := range n {
		group.Go(func() error { return do(ctx, nameOf(i)) })
	}
	return group.Wait()
}

// nameOf is the name of an object, by its number.
func nameOf(i int) string { return fmt.Sprintf("cache-%04d", i) }

func newMemcached(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{"size": int64(size), "containerPort": int64(port)},
	}}
	object.SetGroupVersionKind(memcached)
	return object
}

// waitForAvailable waits until so many Deployments and Memcacheds are recorded as Available, as wanted.
func (f *fixture) waitForAvailable(ctx context.Context, recorder *record.Recorder, count int, want target) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	seen := map[types.UID]bool{}
	reported := time.Now()
	err := recorder.Until(ctx, 0, func(v record.Version) bool {
		if want.isReached(v.Object) && !v.Deleted {
			seen[v.Object.GetUID()] = true
		} else {
			delete(seen, v.Object.GetUID())
		}
		if time.Since(reported) > 5*time.Second {
			reported = time.Now()
			f.say("%d of %d Deployments and Memcacheds are Available", len(seen), count)
		}
		return len(seen) == count
	})
	if err != nil {
		return fmt.Errorf("%d of %d Deployments and Memcacheds are Available: %w", len(seen), count, err)
	}
	return nil
}

// target is what all Deployments are to become.
type target struct {
	size int64
	// restarted is whether their pods are those after restartPods.
	restarted bool
	// condition is the type of the condition that a Memcached needs; empty means Available.
	condition string
}

// isReached reports whether the condition of a Memcached is True, for its current spec if it says for which, or whether a Deployment
// has all of its pods, of its current template.
func (t target) isReached(object *unstructured.Unstructured) bool {
	if object.GetKind() == memcached.Kind {
		conditions, err := framework.ConditionsOf(object)
		condition := meta.FindStatusCondition(conditions, cmp.Or(t.condition, "Available"))
		return err == nil && condition != nil && condition.Status == metav1.ConditionTrue &&
			(condition.ObservedGeneration == 0 || condition.ObservedGeneration == object.GetGeneration())
	}
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	_, restarted, _ := unstructured.NestedString(object.Object, "spec", "template", "metadata", "annotations", restartedAt)
	if observed < object.GetGeneration() || restarted != t.restarted {
		return false
	}
	for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
		if count, _, _ := unstructured.NestedInt64(object.Object, "status", field); count != t.size {
			return false
		}
	}
	return true
}
