package framework

import (
	"cmp"
	"errors"
	"fmt"
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

// acceptFunc says what is still missing in the objects, or nil when nothing is. It is called in the order in which
// the API server changed the objects, once for every change.
type acceptFunc func(objects []client.Object) error

// reconnect is the pause before an API server that did not answer is asked again. There is no event to wait for:
// tests that kill API servers end here.
const reconnect = 100 * time.Millisecond

// follow lists the objects and then watches them, and returns nil as soon as accept does. When patience ends first it
// returns what accept last said. A watch that ends, an API server that is away and a compacted history lead to a
// new list, never to a failure.
func follow(p *patience, c client.WithWatch, list client.ObjectList, opts []client.ListOption, accept acceptFunc) error {
	var last error
	for {
		err := followOnce(p, c, list, opts, func(objects []client.Object) error {
			last = accept(objects)
			p.saw(last)
			return last
		})
		if err == nil {
			return nil
		}
		if last == nil || !errors.Is(err, errWatchEnded) && p.asking.Err() == nil {
			last = err
			p.saw(last)
		}
		p.begin()
		if !p.pause(reconnect) {
			return last
		}
	}
}

var errWatchEnded = errors.New("the watch ended")

// followOnce lists and watches until accept returns nil, the watch or patience ends, or the API server refuses.
func followOnce(p *patience, c client.WithWatch, list client.ObjectList, opts []client.ListOption, accept acceptFunc) error {
	current := list.DeepCopyObject().(client.ObjectList)
	if err := c.List(p.asking, current, opts...); err != nil {
		return fmt.Errorf("listing failed: %w", err)
	}
	seen := map[types.UID]client.Object{}
	if err := meta.EachListItem(current, func(item runtime.Object) error {
		object := item.(client.Object)
		seen[object.GetUID()] = object
		return nil
	}); err != nil {
		return err
	}
	if accept(sorted(seen)) == nil {
		return nil
	}

	p.begin()

	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: current.GetResourceVersion()}}
	events, err := c.Watch(p.asking, list.DeepCopyObject().(client.ObjectList), append(slices.Clone(opts), from)...)
	if err != nil {
		return fmt.Errorf("watching failed: %w", err)
	}
	defer events.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case <-p.over:
			return errWatchEnded
		case event, open = <-events.ResultChan():
		}
		if !open {
			return errWatchEnded
		}
		switch event.Type {
		case watch.Added, watch.Modified:
			object := event.Object.(client.Object)
			seen[object.GetUID()] = object
		case watch.Deleted:
			delete(seen, event.Object.(client.Object).GetUID())
		case watch.Error:
			return fmt.Errorf("watching failed: %w", apierrors.FromObject(event.Object))
		default: // bookmarks change nothing
			continue
		}
		if accept(sorted(seen)) == nil {
			return nil
		}
	}
}

// sorted returns the objects by namespace and name, so that messages don't depend on a map's order.
func sorted(seen map[types.UID]client.Object) []client.Object {
	return slices.SortedFunc(maps.Values(seen), func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}
