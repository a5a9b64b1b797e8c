package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

// lagTime is how long watches stay behind at least where nothing shows that the operator has acted on what it no longer sees.
const lagTime = time.Second

// canaryTime is how long an operator has to act on a canary while other watches are behind. One that first waits for what it has
// written itself does not act on it at all.
const canaryTime = 5 * time.Second

// Stale checks that an object ends up with the same children as any other if the operator's watches of one kind fall behind while it works
// on the object. A watch may always fall behind, and an operator that relies on its cache then repeats what it has just done. The operator
// reaches the API server through a proxy that delays the events. No other feature may use the operator at the same time.
func (c Checks) Stale(ctx context.Context, s *framework.Scope) {
	if s.Operator.InPods() {
		s.DoesNotApply("the operator runs in a pod, which does not reach the API server through a proxy on this machine")
	}
	s = s.Patient(healTime)
	proxy := newLaggard()
	proxied := s.Proxied(ctx, proxy.intercept)
	s.RestartAfterwards(ctx)
	s.Cleanup(proxy.catchUp)
	must(s, s.Operator.Stop(ctx))
	dropLeases(ctx, s)
	must(s, s.Operator.Restart(ctx, proxied))
	since := s.Mark()
	model, children := c.createdWithOwned(ctx, s, "current")
	points := cutPoints(s, proxy.watchedOf(resourcesOf(s, c.sample().kinds)), len(written(ctx, s, since, mentions(model.GetName()))))
	if len(points) == 0 {
		s.DoesNotApply("the operator watches nothing that belongs to the sample")
	}
	for _, at := range points {
		c.fallBehind(ctx, s, proxy, at, model, describeKinds(children))
	}
}

// cutPoint says which watches fall behind, and when.
type cutPoint struct {
	// resource is what is watched.
	resource schema.GroupResource
	// write is the number of the first write that mentions a new object whose events are held back.
	write int
}

func (p cutPoint) String() string {
	return fmt.Sprintf("watches of %s that are behind from write %d on", p.resource, p.write)
}

// cutPoints returns at most [cuts] points: the first write for each resource, and others that are drawn.
func cutPoints(s *framework.Scope, resources []schema.GroupResource, writes int) (points []cutPoint) {
	var others []cutPoint
	for _, resource := range resources {
		points = append(points, cutPoint{resource, 1})
		for write := 2; write <= writes; write++ {
			others = append(others, cutPoint{resource, write})
		}
	}
	for len(points) < cuts && len(others) > 0 {
		i := int(s.Size(0, int32(len(others)-1)))
		points, others = append(points, others[i]), slices.Delete(others, i, i+1)
	}
	return points[:min(cuts, len(points))]
}

// fallBehind makes the operator work on a new object, and on changes of it that do not matter, while watches are behind. Once they have
// caught up, the object has to own what the model owns.
func (c Checks) fallBehind(ctx context.Context, s *framework.Scope, proxy *laggard, at cutPoint, model client.Object, wanted string) {
	since, name := s.Mark(), s.NewName("behind")
	proxy.fallBehind(at, name)
	object := c.createNamed(ctx, s, name, smallest)
	c.waitForWrites(ctx, s, since, object, at.write, wanted)
	proxy.hold(at.resource) // also if there were fewer writes
	patch(ctx, s, object, note)
	belongings, err := belonging(ctx, s, object, c.sample().kinds)
	must(s, err)
	for _, child := range owned(belongings, object) {
		must(s, client.IgnoreNotFound(s.Client.Patch(ctx, &child, mergePatch(note))))
	}
	var canary client.Object
	if at.resource == resourcesOf(s, []schema.GroupVersionKind{c.sample().GVK()})[0] {
		select { // the operator can't see a canary
		case <-time.After(lagTime):
		case <-ctx.Done():
		}
	} else {
		canary = c.tryCanary(ctx, s)
	}
	proxy.catchUp()
	if canary != nil {
		c.remove(ctx, s, canary)
	}
	c.verifySameEnd(ctx, s, model, object, wanted, at.String())
}

// tryCanary creates a canary, which has to be removed, and waits until the operator writes something about it, or until it had the time to.
func (c Checks) tryCanary(ctx context.Context, s *framework.Scope) client.Object {
	since, name := s.Mark(), s.NewName(Canary)
	canary := c.createNamed(ctx, s, name, smallest)
	end := time.Now().Add(canaryTime)
	framework.WaitFor(ctx, s, name, func(ctx context.Context) error {
		if len(framework.VerifyWrites(ctx, s, math.MaxInt, s.Writes(since, audit.About(name)))) > 0 || time.Now().After(end) {
			return nil
		}
		return fmt.Errorf("expected a write about it within %v; last seen: none", canaryTime)
	})
	return canary
}

// resourcesOf returns the resources of the kinds.
func resourcesOf(s *framework.Scope, kinds []schema.GroupVersionKind) (resources []schema.GroupResource) {
	for _, kind := range kinds {
		mapping, err := s.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		must(s, err)
		resources = append(resources, mapping.Resource.GroupResource())
	}
	return resources
}

// laggard is a proxy that holds back the events of watches.
type laggard struct {
	mu      sync.Mutex
	watched map[schema.GroupResource]bool
	next    *cutPoint // nil if none is to come
	name    string    // of the new object
	writes  int       // that mentioned it since next was set
	behind  schema.GroupResource
	current chan struct{} // is closed unless watches are behind
}

func newLaggard() *laggard {
	l := &laggard{watched: map[schema.GroupResource]bool{}, current: make(chan struct{})}
	close(l.current)
	return l
}

// requests takes the paths of requests apart, as the API server does.
var requests = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (l *laggard) intercept(pass http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		info, err := requests.NewRequestInfo(r)
		if err != nil || !info.IsResourceRequest {
			pass.ServeHTTP(answer, r)
			return
		}
		resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
		switch info.Verb {
		case "watch":
			l.see(resource)
			answer = lagging{answer, func() { l.wait(r.Context(), resource) }}
		case "create", "update", "patch", "delete":
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(answer, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !strings.HasSuffix(info.Resource, "reviews") && info.Resource != "leases" && info.Resource != "events" && !slices.Contains(connections, info.Subresource) {
				l.count(info.Name, body)
			}
		}
		pass.ServeHTTP(answer, r)
	})
}

// lagging is the answer to a watch.
type lagging struct {
	http.ResponseWriter
	wait func()
}

// Unwrap returns the answer that is flushed.
func (w lagging) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w lagging) Write(events []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(events)
}

// see notes that the operator watches a resource.
func (l *laggard) see(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched[resource] = true
}

// watchedOf returns those of the resources that the operator watches.
func (l *laggard) watchedOf(resources []schema.GroupResource) []schema.GroupResource {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(resources, func(r schema.GroupResource) bool { return !l.watched[r] })
}

// wait returns when the events of a resource may be passed on, or when the watch has ended.
func (l *laggard) wait(ctx context.Context, resource schema.GroupResource) {
	l.mu.Lock()
	current := l.current
	if l.behind != resource {
		current = nil
	}
	l.mu.Unlock()
	if current == nil {
		return
	}
	select {
	case <-current:
	case <-ctx.Done():
	}
}

// fallBehind holds events back from a later write on that mentions a new object. Others still come, such as those about an earlier
// object; if one of them counted, the operator might never see the new object.
func (l *laggard) fallBehind(at cutPoint, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.name, l.writes = &at, name, 0
}

// count counts a write that the API server has not seen yet, if it mentions the new object: in its path or, in JSON as in Protobuf, in
// its body.
func (l *laggard) count(name string, body []byte) {
	l.mu.Lock()
	if l.next != nil && (strings.Contains(name, l.name) || bytes.Contains(body, []byte(l.name))) {
		l.writes++
	}
	now := l.next != nil && l.writes >= l.next.write
	var resource schema.GroupResource
	if now {
		resource = l.next.resource
	}
	l.mu.Unlock()
	if now {
		l.hold(resource)
	}
}

// hold holds back the events of a resource from now on.
func (l *laggard) hold(resource schema.GroupResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = nil
	if l.behind == resource {
		return
	}
	l.behind, l.current = resource, make(chan struct{})
}

// catchUp passes on what was held back.
func (l *laggard) catchUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = nil
	if l.behind != (schema.GroupResource{}) {
		close(l.current)
		l.behind = schema.GroupResource{}
	}
}
