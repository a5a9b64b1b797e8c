package operators

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
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
func (w *world) untilAllAvailable(ctx context.Context, n int) error {
	if err := w.until(ctx, n, &appsv1.DeploymentList{}, &appsv1.Deployment{}, "available Deployments", hasAllPods); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(memcached.GroupVersion().WithKind(memcached.Kind + "List"))
	return w.until(ctx, n, list, &unstructured.Unstructured{}, "Memcacheds that say Available=True", func(object apiruntime.Object) bool {
		u, ok := object.(*unstructured.Unstructured)
		return ok && framework.IsTrue(u, "Available")
	})
}

func hasAllPods(object apiruntime.Object) bool {
	d, ok := object.(*appsv1.Deployment)
	return ok && d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas == size
}

// until returns when n objects of a kind are as they should be.
func (w *world) until(ctx context.Context, n int, list client.ObjectList, object apiruntime.Object, what string, good func(apiruntime.Object) bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
			fresh := list.DeepCopyObject().(client.ObjectList)
			return fresh, w.client.List(ctx, fresh, &client.ListOptions{Namespace: namespace, Raw: &o})
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return w.client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), &client.ListOptions{Namespace: namespace, Raw: &o})
		},
	}
	seen := map[string]bool{}
	told := time.Now()
	_, err := watchtools.UntilWithSync(ctx, lw, object, nil, func(event watch.Event) (bool, error) {
		name := event.Object.(client.Object).GetName()
		if event.Type != watch.Deleted && good(event.Object) {
			seen[name] = true
		} else {
			delete(seen, name)
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			w.say("  %d of %d %s", len(seen), n, what)
		}
		return len(seen) == n, nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d %s: %w", len(seen), n, what, err)
	}
	return nil
}
