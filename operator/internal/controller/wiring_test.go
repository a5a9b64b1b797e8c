package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/metrics"
)

var (
	memcachedKind  = cachev1alpha1.GroupVersion.WithKind("Memcached")
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
)

// wiring is a manager without an API server, with the reconciler set up in it. The test plays the watches.
type wiring struct {
	ctrl.Manager
	cache *fakeCache

	// collectors and leads are what the reconciler adds to its manager: collectors of metrics, and, for each controller, whether
	// it works only in the leader. recorders are the names of its event recorders.
	collectors []*metrics.Collector
	leads      []bool
	recorders  []string

	// called receives the name of each Memcached that the reconciler is called for, and when.
	called chan reconciled
	// seen are the names received so far.
	seen map[string]bool
}

type reconciled struct {
	name string
	at   time.Time
}

// newWiring returns a manager that runs the reconciler until the test finishes. The reconciler finds no Memcached, except for the one
// called "refused", which can't be read.
func newWiring(t *testing.T, recheckInterval time.Duration) *wiring {
	t.Helper()
	w := &wiring{called: make(chan reconciled, 1000), seen: map[string]bool{}}
	w.cache = &fakeCache{informers: map[schema.GroupVersionKind]*fakeInformer{}}
	reads := interceptor.NewClient(fake.NewClientBuilder().WithScheme(testScheme()).WithRESTMapper(restMapper()).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			w.called <- reconciled{key.Name, time.Now()}
			if key.Name == "refused" {
				return errors.New("refused")
			}
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		},
	})
	var err error
	w.Manager, err = ctrl.NewManager(&rest.Config{}, ctrl.Options{
		Scheme:         testScheme(),
		Logger:         logr.Discard(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return restMapper(), nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return w.cache, nil },
		NewClient:      func(*rest.Config, client.Options) (client.Client, error) { return reads, nil },
		Controller:     config.Controller{MaxConcurrentReconciles: 1, SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &MemcachedReconciler{Client: reads, APIReader: reads, RecheckInterval: recheckInterval, ProgressDeadline: testDeadline}
	if err := reconciler.SetupWithManager(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- w.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	// A controller processes nothing before all of its watches have started.
	w.await(t, firstSeen)
	return w
}

// Add implements manager.Manager.
func (w *wiring) Add(runnable manager.Runnable) error {
	if collector, ok := runnable.(*metrics.Collector); ok {
		w.collectors = append(w.collectors, collector)
		return nil // its metrics are registered once in a process
	}
	elected, ok := runnable.(manager.LeaderElectionRunnable)
	w.leads = append(w.leads, !ok || elected.NeedLeaderElection())
	return w.Manager.Add(runnable)
}

// GetEventRecorder implements manager.Manager.
func (w *wiring) GetEventRecorder(name string) recorder.EventRecorder {
	w.recorders = append(w.recorders, name)
	return w.Manager.GetEventRecorder(name)
}

// await waits until the reconciler is called for a Memcached, and returns when that was.
func (w *wiring) await(t *testing.T, name string) time.Time {
	t.Helper()
	timeout := time.After(10 * time.Minute)
	for {
		select {
		case call := <-w.called:
			w.seen[call.name] = true
			if call.name == name {
				return call.at
			}
		case <-timeout:
			t.Fatalf("the reconciler is not called for the Memcached %s", name)
		}
	}
}

// fakeCache has informers whose events a test plays.
type fakeCache struct {
	informertest.FakeInformers
	mutex     sync.Mutex
	informers map[schema.GroupVersionKind]*fakeInformer
}

// GetInformer implements cache.Informers.
func (c *fakeCache) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	kind, err := apiutil.GVKForObject(object, testScheme())
	return c.informer(kind), err
}

func (c *fakeCache) informer(kind schema.GroupVersionKind) *fakeInformer {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.informers[kind] == nil {
		c.informers[kind] = &fakeInformer{FakeInformer: controllertest.NewFakeInformer(controllertest.Synced)}
		if kind == memcachedKind {
			c.informers[kind].first = memcachedCalled(firstSeen)
		}
	}
	return c.informers[kind]
}

// fakeInformer has an object from the start, if first is not nil.
type fakeInformer struct {
	*controllertest.FakeInformer
	first client.Object
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *fakeInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	registration, err := i.FakeInformer.AddEventHandlerWithOptions(handler, options)
	if i.first != nil {
		handler.OnAdd(i.first, false)
	}
	return registration, err
}

// firstSeen is the Memcached that exists from the start.
const firstSeen = "first-seen"

// memcachedCalled returns a Memcached whose UID is its name.
func memcachedCalled(name string) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace, Name: name, UID: types.UID(name), Generation: 1, ResourceVersion: "1",
	}}
}

// An event that may change a status calls the reconciler, for the right Memcached. No other event does.
func TestWatches(t *testing.T) {
	ownedBy := func(mc string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: testNamespace, Name: "of-" + mc, ResourceVersion: "1", Labels: commonLabels(types.UID(mc), memcachedCalled(mc)),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(memcachedCalled(mc), memcachedKind)},
		}
	}
	memcached := func(mc string) client.Object { return memcachedCalled(mc) }
	deployment := func(mc string) client.Object {
		return &appsv1.Deployment{ObjectMeta: ownedBy(mc), Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))}}
	}
	replicaSet := func(mc string) client.Object { return &metav1.PartialObjectMetadata{ObjectMeta: ownedBy(mc)} }
	pod := func(mc string) client.Object { return &corev1.Pod{ObjectMeta: ownedBy(mc)} }
	observed := func(mc string) client.Object {
		return &appsv1.Deployment{ObjectMeta: ownedBy(mc), Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}
	}
	readyPod := func(mc string) client.Object {
		object := &corev1.Pod{ObjectMeta: ownedBy(mc)}
		ready(object)
		return object
	}
	goingPod := func(mc string) client.Object {
		object := &corev1.Pod{ObjectMeta: ownedBy(mc)}
		deleting(object)
		return object
	}
	created := func(informer *fakeInformer, object client.Object) { informer.Add(object) }
	deleted := func(informer *fakeInformer, object client.Object) { informer.Delete(object) }
	changed := func(change func(client.Object)) func(*fakeInformer, client.Object) {
		return func(informer *fakeInformer, object client.Object) {
			after := object.DeepCopyObject().(client.Object)
			after.SetResourceVersion("2")
			change(after)
			informer.Update(object, after)
		}
	}
	nothing := func(client.Object) {}

	cases := []struct {
		name   string
		kind   schema.GroupVersionKind
		object func(mc string) client.Object
		event  func(*fakeInformer, client.Object)
		want   bool
	}{
		{"a Memcached is created", memcachedKind, memcached, created, true},
		{"its spec changes", memcachedKind, memcached, changed(func(object client.Object) { object.SetGeneration(2) }), true},
		{"its status changes", memcachedKind, memcached, changed(nothing), false},
		{"it is another one", memcachedKind, memcached, changed(func(object client.Object) { object.SetUID("another") }), true},
		{"it is gone", memcachedKind, memcached, deleted, true},
		{"a Deployment is created", deploymentKind, deployment, created, false},
		{"a Deployment is there when the watch starts", deploymentKind, observed, created, true},
		{"all its pods are ready", deploymentKind, deployment, changed(func(object client.Object) { object.(*appsv1.Deployment).Status.ReadyReplicas = 1 }), true},
		{"a Deployment is written as it is", deploymentKind, deployment, changed(nothing), false},
		{"a Deployment is gone", deploymentKind, deployment, deleted, true},
		{"a ReplicaSet is created", replicaSetKind, replicaSet, created, true},
		{"a ReplicaSet is released", replicaSetKind, replicaSet, changed(func(object client.Object) { object.SetOwnerReferences(nil) }), true},
		{"a ReplicaSet is counted", replicaSetKind, replicaSet, changed(nothing), false},
		{"a ReplicaSet is gone", replicaSetKind, replicaSet, deleted, true},
		{"a pod is created", podKind, pod, created, false},
		{"a pod is ready when the watch starts", podKind, readyPod, created, true},
		{"a pod is ready", podKind, pod, changed(func(object client.Object) { ready(object.(*corev1.Pod)) }), true},
		{"a pod is scheduled", podKind, pod, changed(nothing), false},
		{"a pod is gone", podKind, pod, deleted, true},
		{"a pod that was going is gone", podKind, goingPod, deleted, false},
	}
	name := func(i int) string { return fmt.Sprintf("memcached-%d", i) }
	w := newWiring(t, testRecheck)
	for i, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			test.event(w.cache.informer(test.kind), test.object(name(i)))
			if test.want {
				w.await(t, name(i))
				return
			}
			// The only worker processes one request after the other.
			behind := fmt.Sprintf("behind-%d", i)
			w.cache.informer(memcachedKind).Add(memcachedCalled(behind))
			w.await(t, behind)
			if w.seen[name(i)] {
				t.Error("the reconciler is called for the Memcached")
			}
		})
	}
}

// A failed reconcile is retried soon, then less and less often, but at least at every recheck interval.
func TestRetries(t *testing.T) {
	const recheck = 40 * time.Millisecond
	w := newWiring(t, recheck)
	w.cache.informer(memcachedKind).Add(memcachedCalled("refused"))
	// Without that limit, the last of these attempts would come after an hour and a half.
	last, wait := w.await(t, "refused"), firstRetry
	for range 20 {
		next := w.await(t, "refused")
		if pause := next.Sub(last); pause < wait {
			t.Errorf("tried again after %s, want a pause of %s", pause, wait)
		}
		last, wait = next, min(2*wait, recheck)
	}
}

// Only the leader reconciles. Metrics come from the cache, and events carry the operator's name.
func TestManagerGetsEverything(t *testing.T) {
	w := newWiring(t, testRecheck)
	if len(w.leads) != 1 || !w.leads[0] {
		t.Errorf("controllers work while their replica leads: %t, want one that does", w.leads)
	}
	if len(w.collectors) != 1 || w.collectors[0].Reader != client.Reader(w.cache) || w.collectors[0].Registry != ctrlmetrics.Registry {
		t.Errorf("metrics are collected by %v, want one collector, from the cache", w.collectors)
	}
	if !slices.Equal(w.recorders, []string{cachev1alpha1.FieldManager}) {
		t.Errorf("events are recorded by %q, want %s", w.recorders, cachev1alpha1.FieldManager)
	}
}

// The operator is ready when the caches of these kinds have synced, so there is none that the reconciler watches besides.
func TestCachedKindsAreThoseWatched(t *testing.T) {
	w := newWiring(t, testRecheck)
	watched := map[schema.GroupVersionKind]bool{}
	w.cache.mutex.Lock()
	for kind := range w.cache.informers {
		watched[kind] = true
	}
	w.cache.mutex.Unlock()
	cached := map[schema.GroupVersionKind]bool{}
	for _, object := range CachedKinds() {
		kind, err := apiutil.GVKForObject(object, testScheme())
		if err != nil {
			t.Fatal(err)
		}
		cached[kind] = true
	}
	if diff := cmp.Diff(watched, cached); diff != "" {
		t.Errorf("kinds (-watched +cached):\n%s", diff)
	}
}

// The operator keeps nothing about a Memcached that is gone.
func TestDeletedMemcachedIsForgotten(t *testing.T) {
	w := newFakeCluster(t, 2)
	w.start()
	if len(w.reconciler.lastWrites.records) != 1 {
		t.Fatalf("%d records of one Memcached", len(w.reconciler.lastWrites.records))
	}
	if err := w.api.Delete(t.Context(), w.memcached()); err != nil {
		t.Fatal(err)
	}
	if err := w.reconcileOnce(); err != nil || w.recheck != 0 {
		t.Errorf("error %v, called again after %s, want neither", err, w.recheck)
	}
	if len(w.reconciler.lastWrites.records) != 0 {
		t.Error("its record is still there")
	}
}

// A failed write has no effects: it is neither recorded as done nor announced by an event.
func TestFailedWritesLeaveNoTrace(t *testing.T) {
	for _, write := range []string{createDeployment, patchStatus} {
		t.Run(write, func(t *testing.T) {
			w := newFakeCluster(t, 1)
			w.refuse(write, errors.New("the API server is away"))
			if err := w.reconcileOnce(); err == nil {
				t.Fatal("no error, want that of the write")
			}
			got := w.reconciler.lastWrites.read(w.memcached())
			if write == createDeployment && got.hasDeployment || write == patchStatus && (got.resourceVersion != "" || len(got.status.Conditions) > 0) {
				t.Errorf("recorded as written: %+v", got)
			}
			if len(w.events) > 0 {
				t.Errorf("events %q", w.events)
			}
		})
	}
}

// recordedEvent is the last event of a recorder.
type recordedEvent struct {
	regarding, related              runtime.Object
	eventType, reason, action, note string
}

// Eventf implements events.EventRecorder.
func (h *recordedEvent) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, arguments ...any) {
	*h = recordedEvent{regarding, related, eventType, reason, action, fmt.Sprintf(note, arguments...)}
}

// An event is about the Memcached, without its resource version, and has the message of the condition unchanged.
func TestEventAsRecorded(t *testing.T) {
	degraded := func(status metav1.ConditionStatus, reason, message string) cachev1alpha1.MemcachedStatus {
		return cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{{Type: cachev1alpha1.ConditionDegraded, Status: status, Reason: reason, Message: message}}}
	}
	got := &recordedEvent{}
	mc := memcachedCalled("sessions")
	announce(got, mc, cachev1alpha1.MemcachedStatus{}, degraded(metav1.ConditionTrue, "Forbidden", "100%d of it."))
	want := &recordedEvent{
		regarding: &corev1.ObjectReference{APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Namespace: testNamespace, Name: "sessions", UID: "sessions"},
		eventType: corev1.EventTypeWarning, reason: "Forbidden", action: eventAction("100%d of it."), note: "100%d of it.",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(recordedEvent{})); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}
