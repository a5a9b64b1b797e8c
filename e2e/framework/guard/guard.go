// Package guard prevents a suite from changing objects that it did not create, on a cluster that others use.
//
// It sits below every client that is made from the suite's configuration, so it sees each request, whichever client library sends it. A
// request that changes or deletes an object passes if the run has created that object or its namespace, or if the object is in a
// namespace and younger than the run: the operator under test creates such objects, for example its Lease. Everything else is refused
// before it reaches the API server.
package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// Guard knows what a run has created. It is safe for concurrent use.
type Guard struct {
	root   *url.URL     // of the API server
	lookup *http.Client // of an administrator, without the guard

	mu      sync.Mutex
	created map[object]bool
	began   time.Time // when the run created its first object, by the API server's clock
}

// object names an object. The namespace is empty for kinds that are in no namespace.
type object struct {
	schema.GroupResource
	namespace, name string
}

func (o object) String() string {
	if o.namespace == "" {
		return o.GroupResource.String() + " " + o.name
	}
	return o.GroupResource.String() + " " + o.namespace + "/" + o.name
}

// New returns a guard for the cluster that an administrator reaches by config.
func New(config *rest.Config) (*Guard, error) {
	root, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("guard the cluster: %w", err)
	}
	lookup, err := rest.HTTPClientFor(rest.CopyConfig(config))
	if err != nil {
		return nil, fmt.Errorf("guard the cluster: %w", err)
	}
	return &Guard{root: root, lookup: lookup, created: map[object]bool{}}, nil
}

// Protect puts the guard below all clients that are made from config from now on, or from a copy of it.
func (g *Guard) Protect(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{guard: g, next: next} })
}

// Created reports whether the run has created an object, or the namespace that it is in.
func (g *Guard) Created(resource schema.GroupResource, namespace, name string) bool {
	return g.hasCreated(object{resource, namespace, name})
}

// Namespaces are the names of the namespaces that the run has created, in alphabetical order.
func (g *Guard) Namespaces() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var names []string
	for o := range g.created {
		if o.GroupResource == namespaces {
			names = append(names, o.name)
		}
	}
	slices.Sort(names)
	return names
}

var namespaces = schema.GroupResource{Resource: "namespaces"}

func (g *Guard) hasCreated(o object) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.created[o] || o.namespace != "" && g.created[object{GroupResource: namespaces, name: o.namespace}]
}

// note notes that the run has created an object at a time of the API server's.
func (g *Guard) note(o object, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.created[o] = true
	if g.began.IsZero() {
		g.began = at
	}
}

// isYounger reports whether an object was created after the run's first one. Both times have a precision of a second.
func (g *Guard) isYounger(created time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.began.IsZero() && !created.Before(g.began)
}

// allow returns an error unless the run may make the request.
func (g *Guard) allow(ctx context.Context, info *request.RequestInfo) error {
	target := objectOf(info)
	if g.hasCreated(target) {
		return nil
	}
	const why = "the testbed did not create this cluster, and this run did not create %s: if a feature has to %s it, give the feature the label disruptive=cluster"
	if info.Name == "" {
		return fmt.Errorf(why, "all "+target.Resource+" of the namespace "+target.namespace, info.Verb)
	}
	created, found, err := g.creation(ctx, info)
	switch {
	case err != nil:
		return fmt.Errorf("find out who created %s: %w", target, err)
	case !found: // nothing is changed; apply creates it
		return nil
	case target.namespace != "" && g.isYounger(created):
		return nil
	}
	return fmt.Errorf(why, target.String(), info.Verb)
}

// creation returns when the object of a request was created, and whether there is such an object.
func (g *Guard) creation(ctx context.Context, info *request.RequestInfo) (created time.Time, found bool, err error) {
	parts := []string{info.APIPrefix, info.APIGroup, info.APIVersion}
	if info.APIGroup == "" {
		parts = []string{info.APIPrefix, info.APIVersion}
	}
	if o := objectOf(info); o.namespace != "" {
		parts = append(parts, "namespaces", o.namespace)
	}
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, g.root.JoinPath(append(parts, info.Resource, info.Name)...).String(), nil)
	if err != nil {
		return time.Time{}, false, err
	}
	get.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json")
	answer, err := g.lookup.Do(get)
	if err != nil {
		return time.Time{}, false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return time.Time{}, false, nil
	}
	if answer.StatusCode != http.StatusOK {
		return time.Time{}, false, errors.New(answer.Status)
	}
	var present metav1.PartialObjectMetadata
	err = json.NewDecoder(answer.Body).Decode(&present)
	return present.CreationTimestamp.Time, true, err
}

// resolver takes the paths of requests apart, as the API server does.
var resolver = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// resolve takes the path of a request apart. A proxy may serve the API server below a path of its own.
func (g *Guard) resolve(r *http.Request) (*request.RequestInfo, error) {
	below := *r.URL
	below.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(g.root.Path, "/")), "/")
	return resolver.NewRequestInfo(&http.Request{Method: r.Method, URL: &below})
}

// objectOf returns what a request is about.
func objectOf(info *request.RequestInfo) object {
	o := object{GroupResource: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, namespace: info.Namespace, name: info.Name}
	if o.GroupResource == namespaces {
		o.namespace = ""
	}
	return o
}

// changes reports whether a request may change or delete an object that exists.
func changes(r *http.Request, info *request.RequestInfo) bool {
	switch info.Verb {
	case "update", "patch", "delete", "deletecollection":
		return info.IsResourceRequest && !dryRun(r)
	case "create": // of these, POST to a subresource; others only ask for something, such as a token
		return (info.Subresource == "eviction" || info.Subresource == "binding") && !dryRun(r)
	default:
		return false
	}
}

func dryRun(r *http.Request) bool { return r.URL.Query().Get("dryRun") == metav1.DryRunAll }

// transport lets a run's requests through that the guard allows.
type transport struct {
	guard *Guard
	next  http.RoundTripper
}

// RoundTrip sends the request unless the guard refuses it, and notes what it creates.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	info, err := t.guard.resolve(r)
	if err == nil && changes(r, info) {
		err = t.guard.allow(r.Context(), info)
	}
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	creates := info.IsResourceRequest && info.Verb == "create" && info.Subresource == "" && !dryRun(r)
	if creates {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json") // the answer has the name that the API server has generated
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil || !info.IsResourceRequest || answer.StatusCode != http.StatusCreated || dryRun(r) {
		return answer, err
	}
	o := objectOf(info)
	if creates {
		if err := nameOf(answer, &o); err != nil {
			return nil, fmt.Errorf("read what was created: %w", err)
		}
	}
	t.guard.note(o, timeOf(answer))
	return answer, nil
}

// nameOf sets an object's name to the one that an answer has, which can be read again.
func nameOf(answer *http.Response, o *object) error {
	content, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(content))
	var made metav1.PartialObjectMetadata
	if err := json.Unmarshal(content, &made); err != nil {
		return err
	}
	o.name = made.Name
	return nil
}

// timeOf returns when the API server has answered, or now if it does not say so.
func timeOf(answer *http.Response) time.Time {
	at, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return time.Now().Truncate(time.Second)
	}
	return at
}

// WrappedRoundTripper returns the transport below, which client-go looks for when it upgrades a connection.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
