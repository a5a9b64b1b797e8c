package framework

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/operator-testbed/e2e/cluster"
)

var key = client.ObjectKey{Namespace: "demo", Name: "cache"}

// deployment has size replicas, ready of them ready, and a status of its own generation.
func deployment(size, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "d1", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: new(size)},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: size, UpdatedReplicas: size, ReadyReplicas: ready, AvailableReplicas: ready,
		},
	}
}

func newClient(hooks interceptor.Funcs, objects ...client.Object) client.WithWatch {
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	return fake.NewClientBuilder().
		WithObjects(objects...).
		WithIndex(&appsv1.Deployment{}, "metadata.name", byName).
		WithIndex(&corev1.Namespace{}, "metadata.name", byName).
		WithIndex(&corev1.Pod{}, "metadata.name", byName).
		WithIndex(&corev1.ServiceAccount{}, "metadata.name", byName).
		WithInterceptorFuncs(hooks).
		Build()
}

// verdict runs an assertion, with that timeout on a cluster that is not given longer for being slow, and returns what it failed
// with, or "". It has a synctest bubble's clock, which stands still while anything is being done, however slow the machine is.
func verdict(t *testing.T, c client.WithWatch, timeout time.Duration, assert func(ctx context.Context, s *Scope)) string {
	t.Helper()
	s := &Scope{
		T: new(testing.T), Client: c, Cluster: cluster.Capabilities{RunsPods: true}, timeout: timeout, result: &result{},
	}
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			assert(t.Context(), s)
		}()
		<-done
	})
	if s.Failed() != (s.result.line.Outcome == DoesNotHold) {
		return fmt.Sprintf("failed: %v, but in the report it %s", s.Failed(), s.result.line.Outcome)
	}
	return s.result.line.Message
}

// brief is a timeout that is short enough for a failure to name it in full.
const brief = 50 * time.Millisecond

func TestDeploymentSize(t *testing.T) {
	stale := deployment(3, 3)
	stale.Status.ObservedGeneration = 1
	surge := deployment(3, 3)
	surge.Status.Replicas = 4
	for name, tc := range map[string]struct {
		live *appsv1.Deployment
		want []string // parts of the failure; none: success
	}{
		"as expected":                     {deployment(3, 3), nil},
		"a pod is not ready":              {deployment(3, 2), []string{"Deployment demo/cache: expected spec.replicas 3, 3 pods", "last seen: spec.replicas 3, 3 pods (3 updated, 2 ready, 2 available)"}},
		"another size":                    {deployment(5, 5), []string{"last seen: spec.replicas 5"}},
		"a pod too many":                  {surge, []string{"last seen: spec.replicas 3, 4 pods"}},
		"the status is of an earlier one": {stale, []string{"a status of an earlier generation"}},
		"it does not exist":               {nil, []string{"Deployment demo/cache: expected it to exist; last seen: it does not (gave up after 50ms)"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newClient(interceptor.Funcs{})
			if tc.live != nil {
				c = newClient(interceptor.Funcs{}, tc.live)
			}
			got := verdict(t, c, brief, func(ctx context.Context, s *Scope) {
				WaitForDeployment(ctx, s, key, 3)
			})
			if len(tc.want) == 0 {
				g.Expect(got).To(BeEmpty())
			}
			for _, part := range tc.want {
				g.Expect(got).To(ContainSubstring(part))
			}
		})
	}
}

// The assertion is re-evaluated on a watch event: nothing here ever lists a second time.
func TestDeploymentSizeFollowsTheWatch(t *testing.T) {
	g := NewWithT(t)
	lists := 0
	c := newClient(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			lists++
			return c.List(ctx, list, opts...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, opts...)
			return w, errors.Join(err, c.Status().Update(ctx, deployment(3, 3)))
		},
	}, deployment(3, 2))
	g.Expect(verdict(t, c, 0, func(ctx context.Context, s *Scope) { WaitForDeployment(ctx, s, key, 3) })).To(BeEmpty())
	g.Expect(lists).To(Equal(1))
}

// An API server that is away for a while, and one that ends a watch, are asked again.
func TestFollowSurvivesTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	lists := 0
	c := newClient(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if lists++; lists == 1 {
				return errors.New("connection refused")
			}
			if lists == 3 { // the second list has led to a watch that ended
				g.Expect(c.Status().Update(ctx, deployment(3, 3))).To(Succeed())
			}
			return c.List(ctx, list, opts...)
		},
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			w := watch.NewFake()
			w.Stop()
			return w, nil
		},
	}, deployment(3, 0))
	g.Expect(verdict(t, c, 0, func(ctx context.Context, s *Scope) { WaitForDeployment(ctx, s, key, 3) })).To(BeEmpty())
	g.Expect(lists).To(Equal(3))
}

func TestFailureNamesAnAPIServerThatRefuses(t *testing.T) {
	g := NewWithT(t)
	c := newClient(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("connection refused")
		},
	})
	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) { WaitForDeployment(ctx, s, key, 3) })
	g.Expect(got).To(Equal("Deployment demo/cache: listing failed: connection refused (gave up after 50ms)"))
}

func TestPatient(t *testing.T) {
	g := NewWithT(t)
	for within, patient := range map[time.Duration]time.Duration{brief: 2 * brief, 2 * brief: brief} {
		got := verdict(t, newClient(interceptor.Funcs{}), within, func(ctx context.Context, s *Scope) { WaitForDeployment(ctx, s.Patient(patient), key, 3) })
		g.Expect(got).To(HaveSuffix("(gave up after 100ms)"))
	}
}

// Kubernetes takes its time to delete a namespace, which graders that give assertions 10 seconds must not blame on an operator.
func TestNamespacesMayTakeLonger(t *testing.T) {
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}
	c := newClient(interceptor.Funcs{}, namespace, deployment(3, 3))
	deleted := func(object client.Object) string {
		return verdict(t, c, 10*time.Second, func(ctx context.Context, s *Scope) {
			time.AfterFunc(Converge/2, func() { _ = c.Delete(ctx, object) })
			WaitForDeletion(ctx, s, object)
		})
	}
	g.Expect(deleted(deployment(3, 3))).To(ContainSubstring("gave up after 10s"))
	g.Expect(deleted(namespace)).To(BeEmpty())
}

func TestFailureTellsATimeoutFromACancelledTest(t *testing.T) {
	g := NewWithT(t)
	got := verdict(t, newClient(interceptor.Funcs{}), 0, func(ctx context.Context, s *Scope) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		WaitForDeployment(ctx, s, key, 3)
	})
	g.Expect(got).To(HaveSuffix("(stopped: context canceled)"))
}

func TestCondition(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "p1", Generation: 2},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: "Available", Status: corev1.ConditionTrue, Reason: "AllReplicasReady", Message: "3 of 3 pods are ready", ObservedGeneration: 2},
			{Type: "Degraded", Status: corev1.ConditionFalse, Reason: "AsExpected", ObservedGeneration: 1},
		}},
	}
	for name, tc := range map[string]struct {
		want Condition
		fail string
	}{
		"type and status":          {Condition{Type: "Available", Status: metav1.ConditionTrue}, ""},
		"with reason and message":  {Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "AllReplicasReady", Message: "3 of 3"}, ""},
		"another status":           {Condition{Type: "Available", Status: metav1.ConditionFalse}, `Pod demo/cache: expected Available=False of generation 2; last seen: Available=True/AllReplicasReady (generation 2) "3 of 3 pods are ready", Degraded=False/AsExpected`},
		"another reason":           {Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "X"}, "expected Available=True/X"},
		"another message":          {Condition{Type: "Available", Status: metav1.ConditionTrue, Message: "X"}, `expected Available=True "X"`},
		"of an earlier generation": {Condition{Type: "Degraded", Status: metav1.ConditionFalse}, "of generation 2; last seen"},
		"a type that is not there": {Condition{Type: "Progressing", Status: metav1.ConditionFalse}, "expected Progressing=False"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newClient(interceptor.Funcs{}, pod.DeepCopy())
			got := verdict(t, c, brief, func(ctx context.Context, s *Scope) {
				WaitForConditions(ctx, s, pod, tc.want)
			})
			if tc.fail == "" {
				g.Expect(got).To(BeEmpty())
			} else {
				g.Expect(got).To(ContainSubstring(tc.fail))
			}
		})
	}
}

// A status that an operator has written says nothing once the operator is not ready.
func TestConditionsCountOnlyOfAReadyOperator(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "p1", Generation: 2},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: "Available", Status: corev1.ConditionTrue, Reason: "AllReplicasReady", ObservedGeneration: 2},
		}},
	}
	available := Condition{Type: "Available", Status: metav1.ConditionTrue}
	waitReady := func(probe func(probes int, c client.Client) error) (probes int, failure string) {
		c := newClient(interceptor.Funcs{}, pod.DeepCopy())
		failure = verdict(t, c, time.Second, func(ctx context.Context, s *Scope) {
			s.probe = func(context.Context) error {
				probes++
				return probe(probes, c)
			}
			WaitForConditions(ctx, s, pod, available)
		})
		return probes, failure
	}

	probes, failure := waitReady(func(int, client.Client) error { return nil })
	g.Expect(failure).To(BeEmpty())
	g.Expect(probes).To(Equal(1))

	_, failure = waitReady(func(int, client.Client) error { return errors.New("503 Service Unavailable") })
	g.Expect(failure).To(ContainSubstring("the operator: expected it to be ready, because a status is worth nothing otherwise; last seen: 503 Service Unavailable"))

	// When it gets ready, its status may have changed.
	lose := func(probes int, c client.Client) error {
		if probes < 3 {
			return errors.New("not ready")
		}
		if probes == 3 {
			lost := &corev1.Pod{}
			g.Expect(c.Get(t.Context(), key, lost)).To(Succeed())
			lost.Status.Conditions[0].Status = corev1.ConditionFalse
			g.Expect(c.Status().Update(t.Context(), lost)).To(Succeed())
		}
		return nil
	}
	_, failure = waitReady(lose)
	g.Expect(failure).To(ContainSubstring("expected Available=True of generation 2; last seen: Available=False"))
}

func TestObjectFillsWhatItFound(t *testing.T) {
	g := NewWithT(t)
	c := newClient(interceptor.Funcs{}, deployment(3, 1))
	found := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	g.Expect(verdict(t, c, 0, func(ctx context.Context, s *Scope) {
		WaitForObject(ctx, s, found, HaveField("Status.ReadyReplicas", BeEquivalentTo(1)))
	})).To(BeEmpty())
	g.Expect(found.Status.Replicas).To(BeEquivalentTo(3))

	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForObject(ctx, s, found, HaveField("Status.ReadyReplicas", BeEquivalentTo(3)))
	})
	g.Expect(got).To(And(HavePrefix("Deployment demo/cache: "), ContainSubstring("<int32>: 1")))
}

func TestGoneAndNoneLeftNameWhatIsLeft(t *testing.T) {
	g := NewWithT(t)
	live := deployment(1, 1)
	live.Finalizers = []string{"example.com/hold"}
	c := newClient(interceptor.Funcs{}, live)
	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) { WaitForDeletion(ctx, s, live) })
	g.Expect(got).To(ContainSubstring("expected it to be gone; last seen: demo/cache"))
	g.Expect(got).To(ContainSubstring("example.com/hold"))

	got = verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForNone(ctx, s, &appsv1.DeploymentList{}, client.InNamespace("demo"))
	})
	g.Expect(got).To(HavePrefix("v1.DeploymentList in demo: expected it to be gone"))
	g.Expect(verdict(t, c, 0, func(ctx context.Context, s *Scope) {
		WaitForNone(ctx, s, &appsv1.DeploymentList{}, client.InNamespace("other"))
	})).To(BeEmpty())
}

func TestEventIsAboutThisVeryObject(t *testing.T) {
	g := NewWithT(t)
	event := func(name string) *eventsv1.Event {
		return &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "e"},
			Regarding:  corev1.ObjectReference{UID: "d1"}, Type: "Warning", Reason: "Failed", Note: "pull failed",
		}
	}
	about := deployment(1, 1)
	c := newClient(interceptor.Funcs{}, event("a"))
	g.Expect(verdict(t, c, 0, func(ctx context.Context, s *Scope) {
		WaitForEvent(ctx, s, about, Event{Type: "Warning", Reason: "Failed", Note: "pull"})
	})).To(BeEmpty())

	namesake := about.DeepCopy()
	namesake.UID = "d2"
	got := verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForEvent(ctx, s, namesake, Event{Type: "Warning", Reason: "Failed"})
	})
	g.Expect(got).To(ContainSubstring(`expected the event Warning Failed; last seen: []`))

	twice := Event{Type: "Warning", Reason: "Failed", Times: 2}
	got = verdict(t, c, brief, func(ctx context.Context, s *Scope) { WaitForEvent(ctx, s, about, twice) })
	g.Expect(got).To(ContainSubstring(`expected the event Warning Failed, 2 times; last seen: [Warning Failed "pull failed", 1 times]`))
	got = verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForEvent(ctx, s, about, Event{Type: "Warning", Reason: "Failed", Note: "quota"})
	})
	g.Expect(got).To(ContainSubstring(`expected the event Warning Failed with "quota" in its message; last seen: [`))
	again := event("again")
	again.Series = &eventsv1.EventSeries{Count: 2}
	g.Expect(verdict(t, newClient(interceptor.Funcs{}, again), 0, func(ctx context.Context, s *Scope) {
		WaitForEvent(ctx, s, about, twice)
	})).To(BeEmpty())

	got = verdict(t, c, brief, func(ctx context.Context, s *Scope) {
		WaitForEvent(ctx, s, about, Event{Type: "Normal", Reason: "Failed"})
	})
	g.Expect(strings.Count(got, "pull failed")).To(Equal(1))
}
