package operators

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// clients is how many requests are made at once.
const clients = 16

// limit is how long all objects may take.
const limit = 15 * time.Minute

// world is one cluster, and what is done on it.
type world struct {
	options Options
	cluster *embedded.Provider
	config  *rest.Config
	client  client.WithWatch
	audit   *audit.Log
}

func newWorld(ctx context.Context, cluster *embedded.Provider, o Options) (*world, error) {
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
			return nil, fmt.Errorf("let pods take %s until they are ready: %w", o.PodsReadyAfter, err)
		}
	}
	return &world{options: o, cluster: cluster, config: config, client: c, audit: audit.Open(cluster.AuditLog())}, nil
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.options.Progress, format+"\n", args...)
}

// names are those of n objects.
func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("cache-%04d", i)
	}
	return all
}

func newMemcached(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"size": int64(size), "containerPort": int64(port)},
	}}
	object.SetGroupVersionKind(memcached)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// each does something for every name, some at once.
func each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for _, name := range names {
		group.Go(func() error { return do(ctx, name) })
	}
	return group.Wait()
}

// untilAllAvailable returns when all Deployments have all of their pods, and the Memcacheds say so.
func (w *world) untilAllAvailable(ctx context.Context, recorder *record.Recorder, n int) error {
	if err := w.until(ctx, recorder, n, "Deployment", "available Deployments", hasAllPods); err != nil {
		return err
	}
	return w.until(ctx, recorder, n, memcached.Kind, "Memcacheds that say Available=True", func(object *unstructured.Unstructured) bool {
		return framework.IsTrue(object, "Available")
	})
}

func hasAllPods(deployment *unstructured.Unstructured) bool {
	observed, _, _ := unstructured.NestedInt64(deployment.Object, "status", "observedGeneration")
	available, _, _ := unstructured.NestedInt64(deployment.Object, "status", "availableReplicas")
	return observed >= deployment.GetGeneration() && available == size
}

// until returns when n objects of a kind are as they should be.
func (w *world) until(ctx context.Context, recorder *record.Recorder, n int, kind, what string, good func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	seen := map[string]bool{}
	told := time.Now()
	err := recorder.Until(ctx, 0, func(v record.Version) bool {
		switch name := v.Object.GetName(); {
		case v.Object.GetKind() != kind:
		case !v.Deleted && good(v.Object):
			seen[name] = true
		default:
			delete(seen, name)
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			w.say("  %d of %d %s", len(seen), n, what)
		}
		return len(seen) == n
	})
	if err != nil {
		return fmt.Errorf("%d of %d %s: %w", len(seen), n, what, err)
	}
	return nil
}
