// Package record records every version of the objects in a namespace, in the order in which the API server made them.
//
// An assertion that reads the present state can't see a wrong status that was corrected a moment later. The record shows it: what was
// true before each write. It also is the timeline that a failed test leaves behind.
package record

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Version is one version of one object, as the API server stored it.
type Version struct {
	// Revision orders versions, across kinds too: it is the object's resourceVersion, which in one etcd is the
	// revision of the whole store. A deletion has a revision of its own.
	Revision uint64
	// Seen is when the recorder saw the version, on this machine's clock.
	Seen time.Time
	// Deleted is true for an object's last version.
	Deleted bool
	// Object is what the API server stored.
	Object *unstructured.Unstructured
}

// Before reports whether the API server stored the version before it stored the resource version of another object.
func (v Version) Before(resourceVersion string) bool {
	revision, err := strconv.ParseUint(resourceVersion, 10, 64)
	return err == nil && v.Revision < revision
}

// Recorder records the objects of some kinds in one namespace. Its methods may be called at the same time.
type Recorder struct {
	client    client.WithWatch
	namespace string
	kinds     []schema.GroupVersionKind

	mu       sync.Mutex
	versions []Version
	news     chan struct{} // closed, and replaced, when there is one more version
	gaps     bool          // versions may be missing

	stop context.CancelFunc
	done sync.WaitGroup
}

// Start lists the objects of the kinds in the namespace and records every version from then on, until Stop or until ctx ends. It is an
// error if a kind can't be listed; an API server that does not answer later is asked again.
func Start(ctx context.Context, c client.WithWatch, namespace string, kinds ...schema.GroupVersionKind) (*Recorder, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &Recorder{client: c, namespace: namespace, kinds: kinds, news: make(chan struct{}), stop: stop}
	for _, kind := range kinds {
		next, stop := iter.Pull2(watch.Follow(ctx, c, watch.ListOf(kind), client.InNamespace(namespace)))
		state, err, _ := next()
		if err != nil {
			stop()
			r.Stop()
			return nil, fmt.Errorf("recording %s in %s: %w", kind.Kind, namespace, err)
		}
		r.record(state.New)
		r.done.Go(func() {
			defer stop()
			for state, _, open := next(); open; state, _, open = next() { // an API server that is away is asked again
				if state.Listed {
					r.mu.Lock()
					r.gaps = true
					r.mu.Unlock()
				}
				r.record(state.New)
			}
		})
	}
	return r, nil
}

// Stop ends the recording. What was recorded can still be read.
func (r *Recorder) Stop() {
	r.stop()
	r.done.Wait()
}

// Versions returns the versions recorded so far, ordered by revision. Each kind has a watch of its own, so one may be ahead of another:
// use [Recorder.CaughtUp] to conclude something from an order across kinds.
func (r *Recorder) Versions() []Version {
	versions, _ := r.recorded()
	return versions
}

// Complete reports whether every version is in the record until now. It is not if the API server has compacted its history while the
// recorder could not reach it: then versions are missing that nothing can bring back.
func (r *Recorder) Complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.gaps
}

// Since waits until more than n versions are recorded, and returns those that were recorded after the first n, in the order in
// which the recorder saw them. If ctx ends first, it returns why.
func (r *Recorder) Since(ctx context.Context, n int) ([]Version, error) {
	for {
		r.mu.Lock()
		versions, news := slices.Clone(r.versions[n:]), r.news
		r.mu.Unlock()
		if len(versions) > 0 {
			return versions, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Until returns nil when accept returns true, or why ctx has ended. accept gets the versions that were recorded after the first n, one
// after the other, in the order in which the recorder saw them.
func (r *Recorder) Until(ctx context.Context, n int, accept func(Version) bool) error {
	for {
		versions, err := r.Since(ctx, n)
		if err != nil || slices.ContainsFunc(versions, accept) {
			return err
		}
		n += len(versions)
	}
}

// CaughtUp waits until the record holds the present version of every object, and the deletion of every other one, and returns what
// Versions does. If ctx ends first, the error names what is missing. The recorder must not have been stopped.
func (r *Recorder) CaughtUp(ctx context.Context) ([]Version, error) {
	for _, kind := range r.kinds {
		list := watch.ListOf(kind)
		if err := r.client.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
			return nil, fmt.Errorf("looking whether all of %s in %s is recorded: %w", kind.Kind, r.namespace, err)
		}
		revision, err := strconv.ParseUint(list.GetResourceVersion(), 10, 64)
		if err != nil {
			revision = math.MaxUint64 // an API server without etcd has no revisions to order by
		}
		for {
			versions, news := r.recorded()
			missing := behind(versions, kind.Kind, list.Items, revision)
			if missing == "" {
				break
			}
			select {
			case <-news:
			case <-ctx.Done():
				return nil, fmt.Errorf("%s in %s is not recorded yet: %s: %w", kind.Kind, r.namespace, missing, context.Cause(ctx))
			}
		}
	}
	return r.Versions(), nil
}

// behind names an object whose last recorded version differs from the live one, or returns "". An object may have been created after the
// revision at which the live ones were listed.
func behind(versions []Version, kind string, live []unstructured.Unstructured, listed uint64) string {
	last := lastBefore(versions, kind, math.MaxUint64)
	for _, object := range live {
		revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		if seen, ok := last[object.GetUID()]; err == nil && (!ok || seen.Revision < revision) {
			return fmt.Sprintf("revision %d of %s", revision, object.GetName())
		}
		delete(last, object.GetUID())
	}
	for _, seen := range last {
		if !seen.Deleted && seen.Revision <= listed {
			return "the end of " + seen.Object.GetName()
		}
	}
	return ""
}

// recorded returns the versions, ordered by revision, and what is closed when there are more.
func (r *Recorder) recorded() ([]Version, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(r.versions), func(a, b Version) int {
		return cmp.Compare(a.Revision, b.Revision)
	}), r.news
}

func (r *Recorder) record(versions []watch.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range versions {
		object, err := toUnstructured(v.Object)
		revision, noRevision := strconv.ParseUint(v.Object.GetResourceVersion(), 10, 64)
		if err != nil || noRevision != nil {
			continue // an API server without etcd has no revisions to order by
		}
		r.versions = append(r.versions, Version{Revision: revision, Seen: time.Now(), Deleted: v.Deleted, Object: object})
	}
	close(r.news)
	r.news = make(chan struct{})
}

func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}
