package memcached

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestOutage owns the cluster. An operator that runs goes on when the API server is back, and needs no restart.
func TestOutage(t *testing.T) {
	feature := memcached.Feature("outage").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(operatorWith(longLease))
	framework.Given(feature, created(1, 2)).
		Setup(settled).
		Assess("the API server is killed", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			s.Control(ctx, cluster.KubeAPIServer, cluster.Kill)
			s.ControlPlane(ctx)
			resize(ctx, s, mc, s.Size(3, 5))
			settled(ctx, s, mc)
			mark := s.Mark()
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		TestAlone(t)
}

// TestLongOutage owns the cluster. A leader that can't renew its lease exits: another one may be at work. A supervisor starts it
// again, as a kubelet does.
func TestLongOutage(t *testing.T) {
	memcached.Feature("long outage").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(ownOperator).
		Assess("ends the operator, and the next one goes on", func(ctx context.Context, s *framework.Scope) {
			s.NeedsControl(cluster.KubeAPIServer)
			restart(ctx, s, shortLease(s))
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			s.Control(ctx, cluster.KubeAPIServer, cluster.Stop)
			how, err := s.Operator.Replicas()[0].Ended(ctx)
			s.Control(ctx, cluster.KubeAPIServer, cluster.Start)
			if err != nil {
				s.Fatal(err)
			}
			if how.Code != 1 {
				s.Errorf("expected the operator to exit with code 1; last seen: it %s", how)
			}
			s.ControlPlane(ctx)
			restart(ctx, s, shortLease(s))
			resize(ctx, s, mc, s.Size(3, 5))
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}

// TestCompaction owns the cluster. The operator is cut off while a Deployment goes and a size changes, and no event reports it later:
// etcd has compacted them. The operator has to list, and to find out what is gone.
//
// A client does not see a compaction as such: the API server answers watches from its cache, and its own watch of etcd has kept
// up. So it is made to lose that one, too. It is held while etcd is compacted, past all that it can have seen, and etcd is
// restarted. When the API server goes on, etcd tells it that what it wants to resume from has been compacted (its log says so). It
// lists, fills its cache again and ends all watches; one from before gets 410 Gone, the test's and the operator's alike.
func TestCompaction(t *testing.T) {
	memcached.Feature("compaction of etcd").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(ownOperator).
		Assess("while the operator is cut off is made up for", func(ctx context.Context, s *framework.Scope) {
			s.NeedsControl(cluster.KubeAPIServer)
			way := behindWire(ctx, s, longLease)
			bereft, changed, same := create(ctx, s, s.NewName("bereft"), s.Size(1, 2)), create(ctx, s, s.NewName("changed"), s.Size(1, 2)), create(ctx, s, s.NewName("same"), s.Size(1, 2))
			settled(ctx, s, bereft)
			settled(ctx, s, changed)
			settled(ctx, s, same)
			barrier(ctx, s)
			memcacheds, deployments := seenNow(ctx, s, &cachev1alpha1.MemcachedList{}), seenNow(ctx, s, &appsv1.DeploymentList{})
			mark := s.Mark()
			way.cut()
			resize(ctx, s, changed, s.Size(3, 5))
			remove(ctx, s, deploymentOf(bereft))
			framework.WaitForDeletion(ctx, s, deploymentOf(bereft))
			framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace),
				client.MatchingLabels{cachev1alpha1.LabelMemcachedUID: string(bereft.UID)})

			s.Control(ctx, cluster.KubeAPIServer, cluster.Pause)
			s.Compact(ctx)
			s.Control(ctx, cluster.Etcd, cluster.Restart)
			s.Control(ctx, cluster.KubeAPIServer, cluster.Resume)
			for _, seen := range []*seen{memcacheds, deployments} {
				seen.untilForgotten(ctx, s)
			}
			s.ControlPlane(ctx)
			way.restore()
			settled(ctx, s, changed)
			settled(ctx, s, bereft)
			truthful(ctx, s, changed)
			truthful(ctx, s, bereft)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, the(same.Name)))
			for _, resource := range []string{"memcacheds", "deployments"} {
				ended, err := s.Audit.Since(mark, audit.ByUser(s.Operator.UserName()), audit.Resource(resource, ""), resumed)
				if err != nil {
					s.Fatal(err)
				}
				if len(ended) == 0 {
					s.Errorf("expected that the operator can't resume its watch of %s; last seen: it did", resource)
				}
			}
			mark = s.Mark()
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		TestAlone(t)
}

// TestRecreated owns the operator. It does not see that a Memcached is deleted and made again: its watch is broken all the while,
// and then it has to list. To client-go that is an update from the one to the other.
func TestRecreated(t *testing.T) {
	feature := memcached.Feature("recreated").
		WithLabel("contract", "10").
		WithLabel("disruptive", "operator")
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) *interceptedWatch {
		watch := &interceptedWatch{group: cachev1alpha1.GroupVersion.Group, resource: "memcacheds"}
		behindProxy(ctx, s, watch.intercept)
		return watch
	}).
		Assess("while the watch is broken, it is served", func(ctx context.Context, s *framework.Scope, watch *interceptedWatch) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			restore := watch.cut()
			s.Cleanup(restore)
			// Then it knows that the Deployment is gone, and that there is no Memcached for which to make another one.
			asked := watch.next("GET " + mc.Name)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
			made(ctx, s, asked)
			mc = create(ctx, s, mc.Name, *mc.Spec.Size)
			restore()
			settled(ctx, s, mc)
		}).
		Assess("and does not get its predecessor's status", func(ctx context.Context, s *framework.Scope, watch *interceptedWatch) {
			predecessor := create(ctx, s, s.NewName("held"), s.Size(1, 2))
			settled(ctx, s, predecessor)
			damage(ctx, s, predecessor, `{"metadata":{"finalizers":["`+hold+`"]}}`)
			restore := watch.cut()
			s.Cleanup(restore)
			// The Deployment is going, which the operator sees, and tells the Memcached that it knows.
			told := watch.next("PATCH " + predecessor.Name + "/status")
			remove(ctx, s, predecessor)
			framework.WaitForDeletion(ctx, s, predecessor)
			made(ctx, s, told)
			mc := create(ctx, s, predecessor.Name, *predecessor.Spec.Size)
			told = watch.next("PATCH " + predecessor.Name + "/status")
			damage(ctx, s, mc, `{"metadata":{"labels":{"example.com/news":"some"}}}`)
			made(ctx, s, told)
			restore()
			release(ctx, s, deploymentOf(mc))
			settled(ctx, s, mc)
			for _, version := range s.Versions(ctx) {
				selector, _, _ := unstructured.NestedString(version.Object.Object, "status", "selector")
				if version.Object.GetUID() == mc.UID && strings.Contains(selector, string(predecessor.UID)) {
					s.Fatalf("Memcached %s: expected a status of its own; last seen: the selector %s, which is its predecessor's", mc.Name, selector)
				}
			}
		}).
		TestAlone(t)
}

// TestBehind owns the operator. While a watch of it is broken, its cache has what was before.
func TestBehind(t *testing.T) {
	type behind struct {
		mc                      *cachev1alpha1.Memcached
		memcacheds, replicaSets *interceptedWatch
	}
	feature := memcached.Feature("a cache that is behind").
		WithLabel("contract", "6").
		WithLabel("contract", "1").
		WithLabel("disruptive", "operator")
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) behind {
		memcacheds := &interceptedWatch{group: cachev1alpha1.GroupVersion.Group, resource: "memcacheds"}
		replicaSets := &interceptedWatch{group: appsv1.GroupName, resource: "replicasets"}
		behindProxy(ctx, s, func(pass http.Handler) http.Handler { return memcacheds.intercept(replicaSets.intercept(pass)) })
		mc := create(ctx, s, s.NewName("cache"), single)
		settled(ctx, s, mc)
		return behind{mc, memcacheds, replicaSets}
	}).
		Assess("does not keep the status from changing back", func(ctx context.Context, s *framework.Scope, b behind) {
			s.NeedsSimulation("their kubelets say how a pod is")
			barrier(ctx, s) // its cache has the last status
			restore := b.memcacheds.cut()
			s.Cleanup(restore)
			mark := s.Mark()
			release := unready(ctx, s, b.mc, func(*corev1.ContainerStatus) {})
			framework.WaitForConditions(ctx, s, b.mc, framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse})
			// Its controller has counted it, too, and does not do so later.
			framework.WaitForObject(ctx, s, deploymentOf(b.mc), HaveField("Status.ReadyReplicas", BeEquivalentTo(0)))
			release()
			framework.WaitForObject(ctx, s, deploymentOf(b.mc), HaveField("Status.ReadyReplicas", BeEquivalentTo(single)))
			framework.WaitForConditions(ctx, s, b.mc, available, converged, healthy)
			framework.VerifyDistinctWrites(ctx, s, s.Writes(mark, audit.Resource("memcacheds", "status")))
			restore()
		}).
		Assess("and a pod whose ReplicaSet is not in the cache yet is not counted as lost", func(ctx context.Context, s *framework.Scope, b behind) {
			since, port := len(s.Versions(ctx)), s.Port()
			restore := b.replicaSets.cut()
			s.Cleanup(restore)
			change(ctx, s, b.mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = &port })
			framework.WaitForObject(ctx, s, deploymentOf(b.mc), And(
				HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Ports", ConsistOf(HaveField("ContainerPort", BeEquivalentTo(port)))))),
				WithTransform(rolledOut, BeTrue())))
			// Two repairs in turn: what the operator makes of the pods in the first, it has written when it makes the second.
			for range 2 {
				damage(ctx, s, b.mc, `{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`)
				framework.WaitForObject(ctx, s, deploymentOf(b.mc), HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/name", "memcached")))
			}
			restore()
			settled(ctx, s, b.mc)
			stayedAvailable(ctx, s, b.mc, since)
		}).
		TestAlone(t)
}

// rolledOut returns whether all pods of a Deployment are of its present template.
func rolledOut(deployment *appsv1.Deployment) bool {
	status := deployment.Status
	return status.ObservedGeneration == deployment.Generation && status.UpdatedReplicas == status.Replicas && status.ReadyReplicas == status.Replicas
}

// made waits until the operator has made a request.
func made(ctx context.Context, s *framework.Scope, request <-chan struct{}) {
	s.Helper()
	bounded, cancel := context.WithTimeout(ctx, framework.Converge)
	defer cancel()
	select {
	case <-request:
	case <-bounded.Done():
		s.Fatal("expected that the operator makes a request about the Memcached that it still knows; last seen: it does not")
	}
}

// interceptedWatch is the operator's watch of a kind, behind a proxy. A test can cut it.
type interceptedWatch struct {
	group, resource string

	mu       sync.Mutex
	open     map[*stream]bool         // the watches that are passed on
	held     chan struct{}            // while the watch is cut; closed when it is restored
	requests map[string]chan struct{} // closed when such a request has been answered, and then left out
}

// stream is a watch that is passed on.
type stream struct {
	end   context.CancelFunc
	ended chan struct{}
}

// cut breaks the watch and holds the next ones until restore, when they fail because they have missed too much. When it returns,
// nothing comes through any more.
func (w *interceptedWatch) cut() (restore func()) {
	w.mu.Lock()
	held := make(chan struct{})
	w.held = held
	open := slices.Collect(maps.Keys(w.open))
	w.mu.Unlock()
	for _, stream := range open {
		stream.end()
		<-stream.ended
	}
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held = nil
		close(held)
	})
}

// next returns a channel that is closed when the next such request has been answered: "GET name", or "PATCH name/status".
func (w *interceptedWatch) next(request string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests == nil {
		w.requests = map[string]chan struct{}{}
	}
	w.requests[request] = make(chan struct{})
	return w.requests[request]
}

func (w *interceptedWatch) answered(request string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waits := w.requests[request]; waits != nil {
		delete(w.requests, request)
		close(waits)
	}
}

// begin notes a watch that is about to be passed on; or returns, while the watch is cut, what it has to wait for.
func (w *interceptedWatch) begin(passed *stream) (held <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != nil {
		return w.held
	}
	if w.open == nil {
		w.open = map[*stream]bool{}
	}
	w.open[passed] = true
	return nil
}

func (w *interceptedWatch) forget(passed *stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, passed)
}

func (w *interceptedWatch) intercept(pass http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		of, name, found := strings.Cut(request.URL.Path, "/"+w.resource)
		if !found || !strings.HasPrefix(of, "/apis/"+w.group+"/") {
			pass.ServeHTTP(answer, request)
			return
		}
		if name != "" {
			pass.ServeHTTP(answer, request)
			w.answered(request.Method + " " + strings.TrimPrefix(name, "/"))
			return
		}
		ctx, end := context.WithCancel(request.Context())
		passed := &stream{end: end, ended: make(chan struct{})}
		defer close(passed.ended)
		defer end()
		held := w.begin(passed)
		if held != nil {
			select {
			case <-held:
			case <-ctx.Done():
			}
			http.Error(answer, "what was missed is forgotten", http.StatusGone)
			return
		}
		defer w.forget(passed)
		pass.ServeHTTP(answer, request.WithContext(ctx))
	})
}

// TestBrokenWatches owns the operator. Its connections break again and again, in the middle of lists, of watches and of
// answers to writes: it can't tell what came of them.
func TestBrokenWatches(t *testing.T) {
	memcached.Feature("broken watches").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(ownOperator).
		Assess("lose nothing", func(ctx context.Context, s *framework.Scope) {
			way := behindWire(ctx, s, longLease)
			way.wear(20_000, 40_000, 30_000) // few: each makes the operator wait longer before it tries again
			var served []*cachev1alpha1.Memcached
			for range 5 {
				served = append(served, create(ctx, s, s.NewName("cache"), s.Size(1, 2)))
			}
			for _, mc := range served {
				settled(ctx, s, mc)
				resize(ctx, s, mc, s.Size(3, 4))
			}
			NewWithT(s).Expect(way.left()).To(BeZero(), "connections that did not come, to break")
			for _, mc := range served {
				settled(ctx, s, mc)
			}
			mark := s.Mark()
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
			for _, mc := range served {
				truthful(ctx, s, mc)
			}
		}).
		TestAlone(t)
}

// resumed passes watches that begin where one before has ended. Such a watch lasts minutes, and is logged when it is over: one that
// gets 410 Gone is over at once, and followed by one that starts with the current objects.
func resumed(event *auditv1.Event) bool {
	return event.Verb == "watch" && strings.Contains(event.RequestURI, "resourceVersion=") && !strings.Contains(event.RequestURI, "sendInitialEvents=")
}

// seen is what a client knows of a resource.
type seen struct {
	list   client.ObjectList
	events watch.Interface // of what changes from then on
}

// seenNow lists a resource and begins to watch it.
func seenNow(ctx context.Context, s *framework.Scope, list client.ObjectList) *seen {
	s.Helper()
	if err := s.Client.List(ctx, list); err != nil {
		s.Fatal(err)
	}
	known := &seen{list: list}
	var err error
	if known.events, err = known.watch(ctx, s); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(known.events.Stop)
	return known
}

// watch watches what has changed since the list.
func (k *seen) watch(ctx context.Context, s *framework.Scope) (watch.Interface, error) {
	list := k.list.DeepCopyObject().(client.ObjectList)
	return s.Client.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
}

// untilForgotten waits until the API server ends the watch, and fails the test unless another one from there gets 410 Gone.
func (k *seen) untilForgotten(ctx context.Context, s *framework.Scope) {
	s.Helper()
	ctx, cancel := s.Bounded(ctx)
	defer cancel()
	for open := true; open; {
		select {
		case _, open = <-k.events.ResultChan():
		case <-ctx.Done():
			s.Fatalf("%T: expected that the API server ends all watches; last seen: they go on", k.list)
		}
	}
	again, err := k.watch(ctx, s)
	if err != nil {
		s.Fatal(err)
	}
	defer again.Stop()
	if event := <-again.ResultChan(); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		s.Fatalf("%T: expected 410 Gone for a watch from before; last seen: %s %v", k.list, event.Type, event.Object)
	}
}
