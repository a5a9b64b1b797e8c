// Package history records every version of the objects in a namespace, in the order in which the API server made them.
//
// An assertion that looks at the present can't see a lie that was put right a moment later. A history can: it shows what was
// true before each write. It also is the timeline that a failed test leaves behind.
package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Version is one version of one object.
type Version struct {
	// Revision orders versions, across kinds too: it is the object's resourceVersion, which in one etcd is the
	// revision of the whole store. A deletion has a revision of its own.
	Revision uint64
	// Seen is when the recorder saw it, on this machine's clock.
	Seen time.Time
	// Deleted is true for an object's last version.
	Deleted bool
	// Object is what the API server stored.
	Object *unstructured.Unstructured
}

// Recorder records one namespace.
type Recorder struct {
	client    client.WithWatch
	namespace string

	mu       sync.Mutex
	versions []Version

	stop context.CancelFunc
	done sync.WaitGroup
}

// Start lists the kinds in the namespace and records every version from then on, until Stop or until ctx ends.
func Start(ctx context.Context, c client.WithWatch, namespace string, kinds ...schema.GroupVersionKind) (*Recorder, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &Recorder{client: c, namespace: namespace, stop: stop}
	for _, kind := range kinds {
		from, err := r.list(ctx, kind)
		if err != nil {
			r.Stop()
			return nil, fmt.Errorf("recording %s in %s: %w", kind.Kind, namespace, err)
		}
		r.done.Go(func() { r.follow(ctx, kind, from) })
	}
	return r, nil
}

// Stop ends the recording and keeps what was recorded.
func (r *Recorder) Stop() {
	r.stop()
	r.done.Wait()
}

// Versions returns what was recorded, ordered by revision.
func (r *Recorder) Versions() []Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(r.versions), func(a, b Version) int {
		return cmp.Compare(a.Revision, b.Revision)
	})
}

func (r *Recorder) list(ctx context.Context, kind schema.GroupVersionKind) (resourceVersion string, err error) {
	list := listOf(kind)
	if err := r.client.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return "", err
	}
	for i := range list.Items {
		r.record(&list.Items[i], false)
	}
	return list.GetResourceVersion(), nil
}

// reconnect is the pause before an API server that closed a watch is asked again.
const reconnect = 100 * time.Millisecond

// follow records from a resource version on. Where a watch can't go on from where it ended (the history was compacted),
// it lists anew: versions in between are lost then, which no reader can mend.
func (r *Recorder) follow(ctx context.Context, kind schema.GroupVersionKind, from string) {
	for ctx.Err() == nil {
		from = r.watch(ctx, kind, from)
		select {
		case <-ctx.Done():
			return
		case <-time.After(reconnect):
		}
		if from == "" {
			from, _ = r.list(ctx, kind) // an API server that is away is asked again in the next round
		}
	}
}

// watch records until the watch ends and returns the last resource version it saw, or "" when that one is of no more use.
func (r *Recorder) watch(ctx context.Context, kind schema.GroupVersionKind, from string) string {
	options := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: from}}
	events, err := r.client.Watch(ctx, listOf(kind), client.InNamespace(r.namespace), options)
	if err != nil {
		return from
	}
	defer context.AfterFunc(ctx, events.Stop)()
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Error {
			return ""
		}
		object, err := toUnstructured(event.Object)
		if err != nil || event.Type == watch.Bookmark {
			continue
		}
		from = object.GetResourceVersion()
		r.record(object, event.Type == watch.Deleted)
	}
	return from
}

func (r *Recorder) record(object *unstructured.Unstructured, deleted bool) {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return // an API server without etcd has no revisions to order by
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions = append(r.versions, Version{Revision: revision, Seen: time.Now(), Deleted: deleted, Object: object})
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}
