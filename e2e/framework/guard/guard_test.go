package guard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/framework/guard"
)

// apiServer serves metadata only. Its clock stands still, and what it has at first is an hour old.
type apiServer struct {
	now time.Time

	mu      sync.Mutex
	objects map[string]time.Time // by path
	changes []string             // that were made: METHOD PATH
	accepts []string             // of requests that create something
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/proxied")
	w.Header().Set("Date", s.now.Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	at, found := s.objects[path]
	answer := func(code int, at time.Time) {
		w.WriteHeader(code)
		object := map[string]any{"metadata": map[string]any{"name": path[strings.LastIndex(path, "/")+1:], "creationTimestamp": metav1.NewTime(at)}}
		if !strings.HasPrefix(path, "/api/") { // dynamic clients want to know
			object["apiVersion"], object["kind"] = "example.com/v1", "Object"
		}
		_ = json.NewEncoder(w).Encode(object)
	}
	if r.Method != http.MethodGet {
		s.changes = append(s.changes, r.Method+" "+path)
	}
	switch {
	case r.Method == http.MethodPost:
		s.accepts = append(s.accepts, r.Header.Get("Accept"))
		path += fmt.Sprintf("/generated-%d", len(s.changes))
		s.objects[path] = s.now
		answer(http.StatusCreated, s.now)
	case r.Method == http.MethodPatch && !found:
		s.objects[path] = s.now
		answer(http.StatusCreated, s.now)
	case !found && r.Method != http.MethodDelete:
		answer(http.StatusNotFound, s.now)
	default:
		answer(http.StatusOK, at)
	}
}

// serve returns the server, with the objects at the paths, and how a run with a guard reaches it.
func serve(t *testing.T, paths ...string) (*apiServer, *guard.Guard, *rest.Config) {
	t.Helper()
	s := &apiServer{now: time.Date(2026, 1, 2, 10, 20, 0, 0, time.UTC), objects: map[string]time.Time{}}
	for _, path := range paths {
		s.objects[path] = s.now.Add(-time.Hour)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL + "/proxied"}
	g, err := guard.New(config)
	if err != nil {
		t.Fatal(err)
	}
	g.Protect(config)
	return s, g, config
}

const (
	foreignCRD   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/memcacheds.cache.example.com"
	foreignLease = "/apis/coordination.k8s.io/v1/namespaces/operator-system/leases/foreign"
	ownLease     = "/apis/coordination.k8s.io/v1/namespaces/operator-system/leases/own"
)

// What was there before the run is not changed, whichever client asks for it, and the API server never gets the request.
func TestRefuses(t *testing.T) {
	none, all := metav1.DeleteOptions{}, metav1.ListOptions{}
	for name, change := range map[string]func(context.Context, kubernetes.Interface, dynamic.Interface) error{
		"deleting a CustomResourceDefinition": func(ctx context.Context, _ kubernetes.Interface, d dynamic.Interface) error {
			return d.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Delete(ctx, "memcacheds.cache.example.com", none)
		},
		"applying one": func(ctx context.Context, _ kubernetes.Interface, d dynamic.Interface) error {
			_, err := d.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
				Apply(ctx, "memcacheds.cache.example.com", &unstructured.Unstructured{Object: map[string]any{}}, metav1.ApplyOptions{FieldManager: "test"})
			return err
		},
		"deleting a namespace": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			return c.CoreV1().Namespaces().Delete(ctx, "operator-system", none)
		},
		"finalizing one": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			_, err := c.CoreV1().Namespaces().Finalize(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "operator-system"}}, metav1.UpdateOptions{})
			return err
		},
		"labeling a node": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			_, err := c.CoreV1().Nodes().Patch(ctx, "node", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		},
		"deleting a lease": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			return c.CoordinationV1().Leases("operator-system").Delete(ctx, "foreign", none)
		},
		"updating one": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			_, err := c.CoordinationV1().Leases("operator-system").Update(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}, metav1.UpdateOptions{})
			return err
		},
		"deleting all leases": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			return c.CoordinationV1().Leases("operator-system").DeleteCollection(ctx, none, all)
		},
		"evicting a pod": func(ctx context.Context, c kubernetes.Interface, _ dynamic.Interface) error {
			return c.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server, _, config := serve(t, foreignCRD, foreignLease, "/api/v1/nodes/node", "/api/v1/namespaces/operator-system", "/api/v1/namespaces/default/pods/pod")
			// As another user, with a copy of the configuration.
			config = rest.CopyConfig(config)
			config.Impersonate.UserName = "ann"
			c := kubernetes.NewForConfigOrDie(config)
			// The run has created something, in another namespace.
			_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{}, metav1.CreateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			made := slices.Clone(server.changes)

			g.Expect(change(t.Context(), c, dynamic.NewForConfigOrDie(config))).
				To(MatchError(And(MatchRegexp("this run did not create [a-z]"), ContainSubstring("disruptive=cluster"))))
			g.Expect(server.changes).To(Equal(made))
		})
	}
}

// What the run has created, it can change and delete: also what it did not name itself, and whatever is in its namespaces.
func TestAllows(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	server, guarded, config := serve(t, foreignCRD, foreignLease)
	protobuf := rest.CopyConfig(config)
	protobuf.AcceptContentTypes, protobuf.ContentType = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	c, d := kubernetes.NewForConfigOrDie(protobuf), dynamic.NewForConfigOrDie(config)

	namespace, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "feature-"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.accepts).To(ConsistOf("application/json"))
	g.Expect(guarded.Created(schema.GroupResource{Resource: "pods"}, namespace.Name, "any")).To(BeTrue())
	g.Expect(guarded.Namespaces()).To(Equal([]string{namespace.Name}))
	g.Expect(guarded.Created(schema.GroupResource{Resource: "pods"}, "operator-system", "any")).To(BeFalse())
	g.Expect(c.CoreV1().Pods(namespace.Name).Delete(ctx, "of-the-operator", metav1.DeleteOptions{})).To(Succeed())
	g.Expect(c.CoreV1().Pods(namespace.Name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	g.Expect(c.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{})).To(Succeed())

	roles := d.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"})
	_, err = roles.Apply(ctx, "system:new", &unstructured.Unstructured{Object: map[string]any{}}, metav1.ApplyOptions{FieldManager: "test"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(roles.Delete(ctx, "system:new", metav1.DeleteOptions{})).To(Succeed())
	g.Expect(roles.Delete(ctx, "none", metav1.DeleteOptions{})).To(Succeed(), "what is not there can't be lost")

	server.mu.Lock()
	server.objects[ownLease] = server.now // the operator under test has created it
	server.mu.Unlock()
	g.Expect(c.CoordinationV1().Leases("operator-system").Delete(ctx, "own", metav1.DeleteOptions{})).To(Succeed())

	_, err = d.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		Patch(ctx, "memcacheds.cache.example.com", types.JSONPatchType, []byte(`[]`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	g.Expect(err).NotTo(HaveOccurred(), "a dry run changes nothing")
}

// Without an object of its own to compare with, the run has created nothing.
func TestRefusesBeforeTheFirstCreation(t *testing.T) {
	g := NewWithT(t)
	server, _, config := serve(t, foreignLease)
	g.Expect(kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("operator-system").Delete(t.Context(), "foreign", metav1.DeleteOptions{})).
		To(MatchError(ContainSubstring("did not create leases.coordination.k8s.io operator-system/foreign")))
	g.Expect(server.changes).To(BeEmpty())
}
