package leadership

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const limit = 10 * time.Second

// other is the replica that holds the lease when this one does not.
const other = "other"

// record is the lease as all replicas see it.
type record struct {
	resourcelock.Interface

	held   resourcelock.LeaderElectionRecord
	during func() // called while a request is in flight
	err    error  // the result of the request
}

func (r *record) Identity() string { return "this" }

func (r *record) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &r.held, nil, r.err
}

func (r *record) Create(ctx context.Context, held resourcelock.LeaderElectionRecord) error {
	return r.Update(ctx, held)
}

func (r *record) Update(_ context.Context, held resourcelock.LeaderElectionRecord) error {
	if r.during != nil {
		r.during()
	}
	if r.err == nil {
		r.held = held
	}
	return r.err
}

// testReplica is a replica whose lease and clock the test controls.
type testReplica struct {
	*lease
	record *record
	clock  *clocktesting.FakePassiveClock
}

func newTestReplica() testReplica {
	w := testReplica{record: &record{}, clock: clocktesting.NewFakePassiveClock(time.Now())}
	w.lease = &lease{Interface: w.record, limit: limit, clock: w.clock}
	return w
}

func (w testReplica) pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

func (w testReplica) renew(t *testing.T) {
	t.Helper()
	if err := w.Update(t.Context(), heldBy(w.Identity())); err != nil {
		t.Fatal(err)
	}
}

func heldBy(identity string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: identity}
}

func TestLease(t *testing.T) {
	var (
		mayWrite  = Succeed()
		notHeld   = MatchError(ContainSubstring("does not hold the lease"))
		isTooLate = MatchError(ContainSubstring("may hold it"))
	)
	for name, tc := range map[string]struct {
		do   func(t *testing.T, w testReplica)
		want OmegaMatcher
	}{
		"never held": {func(*testing.T, testReplica) {}, notHeld},
		"created": {func(t *testing.T, w testReplica) {
			if err := w.Create(t.Context(), heldBy(w.Identity())); err != nil {
				t.Fatal(err)
			}
		}, mayWrite},
		"renewed":                   {func(t *testing.T, w testReplica) { w.renew(t) }, mayWrite},
		"just before the limit":     {func(t *testing.T, w testReplica) { w.renew(t); w.pass(limit - 1) }, mayWrite},
		"at the limit":              {func(t *testing.T, w testReplica) { w.renew(t); w.pass(limit) }, isTooLate},
		"renewed in good time":      {func(t *testing.T, w testReplica) { w.renew(t); w.pass(limit - 1); w.renew(t); w.pass(limit - 1) }, mayWrite},
		"renewed after it was late": {func(t *testing.T, w testReplica) { w.renew(t); w.pass(2 * limit); w.renew(t) }, mayWrite},
		"the response came late": {func(t *testing.T, w testReplica) {
			w.record.during = func() { w.pass(limit) }
			w.renew(t)
		}, isTooLate},
		"a renewal that failed does not count": {func(t *testing.T, w testReplica) {
			w.renew(t)
			w.pass(limit - 1)
			w.record.err = errors.New("no response")
			if err := w.Update(t.Context(), heldBy(w.Identity())); err == nil {
				t.Error("expected that the error is passed on")
			}
			w.pass(1)
		}, isTooLate},
		"a read that failed changes nothing": {func(t *testing.T, w testReplica) {
			w.renew(t)
			w.record.err = errors.New("no response")
			if _, _, err := w.Get(t.Context()); err == nil {
				t.Error("expected that the error is passed on")
			}
		}, mayWrite},
		"read as its own": {func(t *testing.T, w testReplica) {
			w.renew(t)
			if _, _, err := w.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, mayWrite},
		"read as another's": {func(t *testing.T, w testReplica) {
			w.renew(t)
			w.record.held = heldBy(other)
			if _, _, err := w.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, notHeld},
		"released": {func(t *testing.T, w testReplica) {
			w.renew(t)
			w.record.during = func() {
				if w.check() == nil {
					t.Error("expected that nothing is written from when the lease is being released")
				}
			}
			if err := w.Update(t.Context(), heldBy("")); err != nil {
				t.Fatal(err)
			}
		}, notHeld},
		"perhaps released": {func(t *testing.T, w testReplica) {
			w.renew(t)
			w.record.err = errors.New("no response")
			if err := w.Update(t.Context(), heldBy("")); err == nil {
				t.Error("expected that the error is passed on")
			}
		}, notHeld},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestReplica()
			tc.do(t, w)
			NewWithT(t).Expect(w.check()).To(tc.want)
		})
	}
}

// server is an API server that accepts every request, and counts them.
func server(t *testing.T) (config *rest.Config, requests map[string]int) {
	t.Helper()
	requests = map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests[r.Method]++
		w.Header().Set("Content-Type", "application/json")
		kind := "ConfigMap"
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/configmaps") {
			kind = "ConfigMapList"
		}
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"` + kind + `","metadata":{"namespace":"team","name":"sessions"}}`))
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, QPS: -1}, requests
}

// mapper knows config maps.
func mapper() meta.RESTMapper {
	result := meta.NewDefaultRESTMapper(nil)
	result.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return result
}

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "sessions"}}
}

// writes are all the ways to write through a client.
var writes = map[string]func(context.Context, client.Client) error{
	"Create": func(ctx context.Context, c client.Client) error { return c.Create(ctx, configMap()) },
	"Update": func(ctx context.Context, c client.Client) error { return c.Update(ctx, configMap()) },
	"Patch":  func(ctx context.Context, c client.Client) error { return c.Patch(ctx, configMap(), emptyPatch) },
	"Apply":  func(ctx context.Context, c client.Client) error { return c.Apply(ctx, emptyApply, manager) },
	"Delete": func(ctx context.Context, c client.Client) error { return c.Delete(ctx, configMap()) },
	"DeleteAllOf": func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, configMap(), client.InNamespace("team"))
	},
	"Status().Update": func(ctx context.Context, c client.Client) error { return c.Status().Update(ctx, configMap()) },
	"Status().Patch": func(ctx context.Context, c client.Client) error {
		return c.Status().Patch(ctx, configMap(), emptyPatch)
	},
	"Status().Apply": func(ctx context.Context, c client.Client) error { return c.Status().Apply(ctx, emptyApply, manager) },
	"SubResource().Create": func(ctx context.Context, c client.Client) error {
		return c.SubResource("part").Create(ctx, configMap(), configMap())
	},
	"SubResource().Update": func(ctx context.Context, c client.Client) error {
		return c.SubResource("part").Update(ctx, configMap())
	},
}

var (
	emptyPatch = client.RawPatch(types.MergePatchType, []byte("{}"))
	emptyApply = accorev1.ConfigMap("sessions", "team")
	manager    = client.FieldOwner("test")
)

func TestClient(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newTestReplica()
			config, requests := server(t)
			c, err := w.newClient(config, client.Options{HTTPClient: http.DefaultClient, Scheme: clientgoscheme.Scheme, Mapper: mapper()})
			g.Expect(err).NotTo(HaveOccurred())

			w.renew(t)
			g.Expect(write(t.Context(), c)).To(Succeed())
			g.Expect(requests).To(HaveLen(1))
			clear(requests)

			w.pass(limit)
			g.Expect(write(t.Context(), c)).To(MatchError(ContainSubstring("this replica renewed its lease 10s ago")))
			g.Expect(requests).To(BeEmpty())

			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(configMap()), configMap())).To(Succeed())
			g.Expect(c.List(t.Context(), &corev1.ConfigMapList{})).To(Succeed())
			g.Expect(requests).To(Equal(map[string]int{http.MethodGet: 2}))
		})
	}
}

// closer is a body that records whether it was closed.
type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func TestHeldBackRequestIsClosed(t *testing.T) {
	held := &fence{lease: newTestReplica().lease}
	body := &closer{Reader: strings.NewReader("{}")}
	for name, request := range map[string]*http.Request{
		"with a body":    {Method: http.MethodPost, Body: body},
		"without a body": {Method: http.MethodDelete},
	} {
		if _, err := held.RoundTrip(request); err == nil { //nolint:bodyclose // there is no response
			t.Errorf("%s: it was sent", name)
		}
	}
	if !body.closed {
		t.Error("the body is still open")
	}
}

func TestManager(t *testing.T) {
	for name, tc := range map[string]struct {
		election         bool
		fenced, unfenced OmegaMatcher
	}{
		"that elects nobody":        {false, Succeed(), Succeed()},
		"that has not been elected": {true, MatchError(ContainSubstring("does not hold the lease")), Succeed()},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			config, _ := server(t)
			manager, err := NewManager(config, ctrl.Options{
				Scheme:                  clientgoscheme.Scheme,
				MapperProvider:          func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
				Metrics:                 metricsserver.Options{BindAddress: "0"},
				LeaderElection:          tc.election,
				LeaderElectionID:        "lease",
				LeaderElectionNamespace: "team",
				RenewDeadline:           new(limit),
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(manager.GetClient().Create(t.Context(), configMap())).To(tc.fenced)
			unfenced, err := Unfenced(manager)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(unfenced.Create(t.Context(), configMap())).To(tc.unfenced)
		})
	}
}

// A request for the lease that gets no response is given up and sent again, while there is still time to renew the lease.
func TestStalledRequestForTheLeaseIsRetried(t *testing.T) {
	requests := make(chan struct{}, 100)
	stalled := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests <- struct{}{}
		<-r.Context().Done()
	}))
	defer stalled.Close()
	manager, err := NewManager(&rest.Config{Host: stalled.URL}, ctrl.Options{
		Scheme:                  clientgoscheme.Scheme,
		Logger:                  logr.Discard(),
		MapperProvider:          func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		LeaderElection:          true,
		LeaderElectionID:        "lease",
		LeaderElectionNamespace: "team",
		LeaseDuration:           new(3 * time.Second),
		RenewDeadline:           new(2 * time.Second),
		RetryPeriod:             new(time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	defer func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()
	for _, request := range []string{"first", "second"} {
		select {
		case <-requests:
		case <-time.After(10 * time.Minute): // without a deadline, the first request waits indefinitely
			t.Fatalf("there is no %s request", request)
		}
	}
}
