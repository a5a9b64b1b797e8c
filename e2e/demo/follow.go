package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// overtaking is how long an event waits for older ones. There is one watch for
// each kind, and they deliver independently of each other: without the wait, a
// verdict could be shown before what it is about.
const overtaking = 30 * time.Millisecond

// knownTypes knows the types that Follow watches.
func knownTypes() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(s), cachev1alpha1.AddToScheme(s)); err != nil {
		return nil, fmt.Errorf("register the API types: %w", err)
	}
	return s, nil
}

// Follow calls see with the state of a Memcached as it is, and then after every
// change, in the order in which the API server made the changes. It returns when
// see says that it has seen enough, or an error, or when ctx ends, with ctx's
// cause. An API server that goes away and comes back is followed further.
func Follow(ctx context.Context, config *rest.Config, memcached types.NamespacedName, see func(State) (enough bool, err error)) error {
	following, stop := context.WithCancel(ctx)
	scheme, err := knownTypes()
	if err != nil {
		stop()
		return err
	}
	watcher, err := cache.New(config, cache.Options{
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{memcached.Namespace: {}},
	})
	if err != nil {
		stop()
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- watcher.Start(following) }()
	defer func() {
		stop()
		<-ended //nolint:errcheck // it ends because it was told to
	}()

	events := make(chan event)
	var listed []toolscache.InformerSynced
	for _, kind := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}, &corev1.Pod{}} {
		informer, err := watcher.GetInformer(following, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(sendTo(following, events))
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		listed = append(listed, registration.HasSynced)
	}

	seen := objects{name: memcached, byUID: map[types.UID]client.Object{}}
	if err := list(ctx, events, listed, seen); err != nil {
		return err
	}
	enough, err := see(seen.state())
	for !enough && err == nil {
		var batch []event
		if batch, err = collect(ctx, events); err != nil {
			return err
		}
		for _, e := range batch {
			seen.apply(e)
			if enough, err = see(seen.state()); enough || err != nil {
				break
			}
		}
	}
	return err
}

// list takes in what there is, up to the moment when every kind was listed.
func list(ctx context.Context, events <-chan event, listed []toolscache.InformerSynced, seen objects) error {
	complete := make(chan struct{})
	go func() {
		defer close(complete)
		toolscache.WaitForCacheSync(ctx.Done(), listed...)
	}()
	for {
		select {
		case e := <-events:
			seen.apply(e)
		case <-complete:
			return context.Cause(ctx) // nil, unless it ended
		}
	}
}

// event is one change of one object.
type event struct {
	object  client.Object
	deleted bool
}

// revision orders events of different kinds: the resourceVersion of an object is
// the revision of the whole store at its last change.
func (e event) revision() uint64 {
	revision, _ := strconv.ParseUint(e.object.GetResourceVersion(), 10, 64)
	return revision
}

func sendTo(ctx context.Context, events chan<- event) toolscache.ResourceEventHandler {
	send := func(object any, deleted bool) {
		if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		select {
		case events <- event{object: object.(client.Object), deleted: deleted}:
		case <-ctx.Done():
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { send(object, false) },
		UpdateFunc: func(_, object any) { send(object, false) },
		DeleteFunc: func(object any) { send(object, true) },
	}
}

// collect waits for an event, and returns it with those that follow closely, in
// the order of their revisions.
func collect(ctx context.Context, events <-chan event) ([]event, error) {
	var batch []event
	var complete <-chan time.Time // never, before the first event
	for {
		select {
		case e := <-events:
			batch = append(batch, e)
			if complete == nil {
				complete = time.After(overtaking)
			}
		case <-complete:
			slices.SortStableFunc(batch, func(a, b event) int { return cmp.Compare(a.revision(), b.revision()) })
			return batch, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// objects are those that exist, as far as seen.
type objects struct {
	name  types.NamespacedName
	byUID map[types.UID]client.Object
}

func (o objects) apply(e event) {
	if e.deleted {
		delete(o.byUID, e.object.GetUID())
		return
	}
	o.byUID[e.object.GetUID()] = e.object
}

func (o objects) state() State {
	var memcached *cachev1alpha1.Memcached
	var deployments []*appsv1.Deployment
	var pods []*corev1.Pod
	for _, object := range o.byUID {
		switch object := object.(type) {
		case *cachev1alpha1.Memcached:
			if client.ObjectKeyFromObject(object) == o.name {
				memcached = object
			}
		case *appsv1.Deployment:
			deployments = append(deployments, object)
		case *corev1.Pod:
			pods = append(pods, object)
		}
	}
	return Observe(memcached, deployments, pods)
}
