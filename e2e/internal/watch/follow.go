// Package watch waits for what the API server reports: it follows objects by a list and watches, and polls what has no watch.
package watch

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reconnect is the pause before an API server that did not answer, or that ended a watch, is asked again. There is no event to
// wait for: tests that kill API servers end up here.
const reconnect = 100 * time.Millisecond

// Version is a version of an object.
type Version struct {
	// Object is what the API server stored.
	Object client.Object
	// Deleted is true for an object's last version.
	Deleted bool
}

// State is what Follow knows of the objects.
type State struct {
	// New are the versions since the State before: one that was watched, or all that a list has brought.
	New []Version
	// Listed is true if New is what a list has brought. Any list but the first comes after a gap: versions may have been lost.
	Listed bool

	known map[types.UID]client.Object
}

// Objects returns all objects that exist, sorted by namespace and name, so that messages don't depend on a map's order.
func (s State) Objects() []client.Object {
	return slices.SortedFunc(maps.Values(s.known), func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// Follow lists the objects and watches them until ctx ends. It yields a State for the list and for each watched version, in the order
// in which the API server made them. A watch that ends is continued from the last version. Where the API server no longer has that
// one (410 Gone, after a compaction), Follow lists again: versions in between are lost then, which no client can repair, except
// for the end of what no longer exists.
//
// An API server that does not answer or refuses is yielded as an error and asked again; break to give up. There is at
// least one State or error, even if ctx has ended.
func Follow(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		f := follower{client: c, objects: list, opts: opts, known: map[types.UID]client.Object{}, yield: yield}
		for range Poll(ctx, reconnect) {
			if !f.once(ctx) {
				return
			}
		}
	}
}

type follower struct {
	client  client.WithWatch
	objects client.ObjectList
	opts    []client.ListOption
	yield   func(State, error) bool

	known map[types.UID]client.Object
	from  string // the version to watch from; empty to list first
}

// once lists, unless there is a version to watch from, and watches until the watch ends. It reports whether to go on.
func (f *follower) once(ctx context.Context) bool {
	if f.from == "" {
		versions, err := f.list(ctx)
		if err != nil {
			return f.yield(State{}, fmt.Errorf("listing failed: %w", err))
		}
		if !f.yield(State{New: versions, Listed: true, known: f.known}, nil) || ctx.Err() != nil {
			return false
		}
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: f.from}}
	events, err := f.client.Watch(ctx, f.objects.DeepCopyObject().(client.ObjectList), append(slices.Clone(f.opts), from)...)
	if err != nil {
		return f.failed(err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case event, open := <-events.ResultChan():
			switch {
			case !open:
				return true
			case event.Type == watch.Error:
				return f.failed(apierrors.FromObject(event.Object))
			case event.Type != watch.Bookmark && !f.changed(event):
				return false
			}
		}
	}
}

// list lists, and returns all versions that it has brought.
func (f *follower) list(ctx context.Context) ([]Version, error) {
	list := f.objects.DeepCopyObject().(client.ObjectList)
	if err := f.client.List(ctx, list, f.opts...); err != nil {
		return nil, err
	}
	gone := f.known
	f.known, f.from = map[types.UID]client.Object{}, list.GetResourceVersion()
	var versions []Version
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object := item.(client.Object)
		f.known[object.GetUID()] = object
		delete(gone, object.GetUID())
		versions = append(versions, Version{Object: object})
		return nil
	})
	for _, object := range (State{known: gone}).Objects() { // nobody watched when it went
		last := object.DeepCopyObject().(client.Object)
		last.SetResourceVersion(f.from)
		versions = append(versions, Version{Object: last, Deleted: true})
	}
	return versions, err
}

// changed yields what a watch has reported.
func (f *follower) changed(event watch.Event) bool {
	version := Version{Object: event.Object.(client.Object), Deleted: event.Type == watch.Deleted}
	f.from = version.Object.GetResourceVersion()
	f.known[version.Object.GetUID()] = version.Object
	if version.Deleted {
		delete(f.known, version.Object.GetUID())
	}
	return f.yield(State{New: []Version{version}, known: f.known}, nil)
}

// failed yields why there is no watch.
func (f *follower) failed(err error) bool {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		f.from = ""
	}
	return f.yield(State{}, fmt.Errorf("watching failed: %w", err))
}
