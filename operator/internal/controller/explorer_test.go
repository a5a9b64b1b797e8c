package controller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// The explorer runs the same scenarios again and again, each time with another fault in another of the operator's calls to the
// API. After every call and every phase it checks what must never happen, and what must happen in the end.

var (
	explorerSeed = flag.Uint64("explorer.seed", 0, "run only the life that TestFaultExplorer makes from this seed")
	explorerRuns = flag.Int("explorer.random", 50, "how many lives with several random faults each TestFaultExplorer tries")
)

// fault is what can happen to a call.
type fault string

const (
	crashBefore fault = "crash before"
	crashAfter  fault = "crash after"
	lostReply   fault = "lost reply"
	serverError fault = "500"
	conflict    fault = "409"
	staleRead   fault = "stale read"
)

// call is a call that the operator made.
type call struct {
	name string
	// write is whether the call is a write, and cached whether it is a read from the cache.
	write, cached bool
}

// faults returns the faults that can happen to the call and differ from those of other calls. A crash after a read, or around a
// read from the cache, is the same as a crash before the next request; a lost response to a read is the same as an error. Only a
// cache can be stale, and nothing else happens to it.
func (c call) faults() []fault {
	switch {
	case c.write:
		return []fault{crashBefore, crashAfter, lostReply, serverError, conflict}
	case c.cached:
		return []fault{staleRead}
	}
	return []fault{crashBefore, serverError}
}

// crash is the value that the operator panics with when it crashes on purpose; over ends a life early.
type (
	crash struct{}
	over  struct{}
)

// moment is a copy of every object at one time.
type moment struct {
	memcached   *cachev1alpha1.Memcached
	deployment  *appsv1.Deployment
	replicaSets []metav1.PartialObjectMetadata
	pods        []corev1.Pod
}

// life is a world with faults, and records what happened in it.
type life struct {
	*world
	plan map[int]fault
	// calls are the operator's calls, and struck are the faults that happened to them.
	calls  []call
	struck []string
	// phases is the number of phases that have finished since the last planned fault.
	phases int
	// misled is whether the current reconcile has read something stale.
	misled bool
	// moments are the different states so far. The last one is the present.
	moments []moment
	// everReady are the pods that were ready at any time, by name, with their hash and their Memcached.
	everReady map[string][2]string
	// specs are the Memcached's specs by UID and generation.
	specs map[string]*cachev1alpha1.Memcached

	violations []string
	// sabotage, if not nil, replaces the operator with a faulty one.
	sabotage func(*life, client.WithWatch) client.WithWatch
}

func (l *life) violate(format string, args ...any) {
	l.violations = append(l.violations, fmt.Sprintf(format, args...))
}

// newLife returns a life without a Memcached.
func newLife(t *testing.T, plan map[int]fault, sabotage func(*life, client.WithWatch) client.WithWatch) *life {
	l := &life{
		world: newWorld(t, 1), plan: plan, sabotage: sabotage,
		everReady: map[string][2]string{}, specs: map[string]*cachev1alpha1.Memcached{},
	}
	l.delete(l.memcached())
	l.afterStatus = l.checkStatus
	l.restart()
	return l
}

// restart starts an operator without records of earlier writes.
func (l *life) restart() {
	l.restartOperator(testImage)
	cluster := interceptor.NewClient(l.cluster, l.operatorCalls())
	cached, live := interceptor.NewClient(cluster, l.faultyCalls(true)), interceptor.NewClient(cluster, l.faultyCalls(false))
	if l.sabotage != nil {
		cached, live = l.sabotage(l, cached), l.sabotage(l, live)
	}
	l.reconciler.Client, l.reconciler.APIReader = cached, live
}

// faultyCalls intercepts each call of the operator and applies the planned fault.
func (l *life) faultyCalls(cached bool) interceptor.Funcs {
	do := func(name string, write bool, perform, stale func() error) error {
		here := call{name, write, cached && !write}
		fault := l.plan[len(l.calls)]
		l.calls = append(l.calls, here)
		if !slices.Contains(here.faults(), fault) {
			fault = ""
		}
		if fault != "" {
			l.struck = append(l.struck, fmt.Sprintf("%s at call %d (%s)", fault, len(l.calls)-1, name))
		}
		switch fault {
		case crashBefore:
			panic(crash{})
		case serverError:
			return apierrors.NewInternalError(errors.New("etcd is gone"))
		case conflict:
			return apierrors.NewConflict(deployments, testName, errors.New("changed in the meantime"))
		case staleRead:
			l.misled = true
			return stale()
		}
		err := perform()
		if write {
			l.look()
		}
		switch fault {
		case crashAfter:
			panic(crash{})
		case lostReply:
			return context.DeadlineExceeded
		}
		return err
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			read := func(from error) error {
				if from == nil && cached && kindOf(object) == "Deployment" && memcachedUID(object) == nil {
					return apierrors.NewNotFound(deployments, key.Name) // the cache selects by that label
				}
				return from
			}
			return do("get "+kindOf(object), false,
				func() error { return read(c.Get(ctx, key, object, options...)) }, func() error { return read(l.earlier(object)) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return do("list "+kindOf(list), false, func() error { return c.List(ctx, list, options...) }, func() error { return l.earlierList(list) })
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return do("create "+kindOf(object), true, func() error { return c.Create(ctx, object, options...) }, nil)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return do("patch "+kindOf(object), true, func() error { return c.Patch(ctx, object, patch, options...) }, nil)
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return do("apply "+kindOf(object), true, func() error { return c.Apply(ctx, object, options...) }, nil)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return do("patch "+kindOf(object)+" "+subResource, true, func() error {
				return testFailed(c.SubResource(subResource).Patch(ctx, object, patch, options...))
			}, nil)
		},
	}
}

// find reads an object that may not be there.
func find[T client.Object](l *life, object T) (T, bool) {
	l.t.Helper()
	err := l.cluster.Get(l.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: testName}, object)
	if client.IgnoreNotFound(err) != nil {
		l.t.Fatal(err)
	}
	return object, err == nil
}

// look records the present objects.
func (l *life) look() {
	l.t.Helper()
	var now moment
	if mc, found := find(l, &cachev1alpha1.Memcached{}); found {
		now.memcached = mc
		l.specs[fmt.Sprintf("%s/%d", mc.UID, mc.Generation)] = mc
	}
	if deployment, found := find(l, &appsv1.Deployment{}); found {
		now.deployment = deployment
	}
	replicaSets := &metav1.PartialObjectMetadataList{}
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := l.cluster.List(l.t.Context(), replicaSets); err != nil {
		l.t.Fatal(err)
	}
	now.replicaSets, now.pods = replicaSets.Items, l.pods()
	for _, pod := range now.pods {
		if isReady(pod) {
			l.everReady[pod.Name] = [2]string{pod.Labels[cachev1alpha1.LabelTemplateHash], pod.Labels[cachev1alpha1.LabelMemcachedUID]}
		}
	}
	l.moments = append(l.moments, now)
}

// earlier reads the previous version of an object.
func (l *life) earlier(object client.Object) error {
	version := func(m moment) client.Object {
		switch {
		case kindOf(object) == "Memcached" && m.memcached != nil:
			return m.memcached
		case kindOf(object) == "Deployment" && m.deployment != nil:
			return m.deployment
		}
		return nil
	}
	same := func(a, b client.Object) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return a.GetResourceVersion() == b.GetResourceVersion()
	}
	present := version(l.moments[len(l.moments)-1])
	found := present
	for _, m := range slices.Backward(l.moments) {
		if found = version(m); !same(found, present) {
			break
		}
	}
	switch found := found.(type) {
	case *cachev1alpha1.Memcached:
		found.DeepCopyInto(object.(*cachev1alpha1.Memcached))
	case *appsv1.Deployment:
		found.DeepCopyInto(object.(*appsv1.Deployment))
	default:
		return apierrors.NewNotFound(deployments, testName)
	}
	return nil
}

// earlierList reads the state before the present one.
func (l *life) earlierList(list client.ObjectList) error {
	before := l.moments[max(0, len(l.moments)-2)]
	switch list := list.(type) {
	case *corev1.PodList:
		(&corev1.PodList{Items: before.pods}).DeepCopyInto(list)
	case *metav1.PartialObjectMetadataList:
		(&metav1.PartialObjectMetadataList{Items: before.replicaSets}).DeepCopyInto(list)
	}
	return nil
}

// checkStatus checks every write of the status. It may report nothing that was never true, and unless the operator read stale
// data, nothing that is not true now.
func (l *life) checkStatus() {
	mc, found := find(l, &cachev1alpha1.Memcached{})
	if !found {
		return
	}
	available := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionAvailable)
	if available == nil || available.Status != metav1.ConditionTrue {
		return
	}
	judged := l.specs[fmt.Sprintf("%s/%d", mc.UID, available.ObservedGeneration)]
	if judged == nil {
		l.violate("I2 truth: Available=True for generation %d, which this Memcached never had", available.ObservedGeneration)
		return
	}
	current := templateHash(desiredDeployment(judged, testImage))
	l.checkReady("Available=True", *judged.Spec.Size, func(_, uid string) bool { return uid == string(mc.UID) })
	if meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionProgressing).Reason == cachev1alpha1.ReasonConverged {
		l.checkReady("Converged", *judged.Spec.Size, func(hash, uid string) bool { return uid == string(mc.UID) && hash == current })
	}
}

// checkReady checks a status that reports size ready pods, identified by their hash and their Memcached.
func (l *life) checkReady(claim string, size int32, are func(hash, uid string) bool) {
	before, now := int32(0), int32(0)
	for _, pod := range l.everReady {
		if are(pod[0], pod[1]) {
			before++
		}
	}
	for _, pod := range l.pods() {
		if was, ok := l.everReady[pod.Name]; ok && are(was[0], was[1]) && pod.DeletionTimestamp == nil && isReady(pod) {
			now++
		}
	}
	if before < size || !l.misled && now < size {
		l.violate("I2 truth: %s with %d of %d pods ready, %d ever", claim, now, size, before)
	}
}

// reconcileOnce calls the operator, and starts it again if it crashed.
func (l *life) reconcileOnce() (err error) {
	l.misled = false
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case crash:
			l.restart()
			err = errors.New("the operator crashed")
		default:
			l.violate("I6 panic: %v", reason)
			l.restart()
			err = errors.New("the operator panicked")
		}
	}()
	return l.world.reconcileOnce()
}

// play runs the Deployment's controller and the kubelets on the operator's objects, one pod at a time.
func (l *life) play() {
	l.t.Helper()
	deployment, found := find(l, &appsv1.Deployment{})
	if !found || deployment.DeletionTimestamp != nil || deployment.Spec.Template.Labels[cachev1alpha1.LabelTemplateHash] == "" {
		return
	}
	if deployment.Status.ObservedGeneration < deployment.Generation || int32(len(l.pods())) != *deployment.Spec.Replicas {
		l.controlDeployment()
	} else if i := slices.IndexFunc(l.pods(), func(pod corev1.Pod) bool {
		return !isReady(pod)
	}); i >= 0 {
		l.setReady(i, corev1.ConditionTrue)
	} else {
		return
	}
	l.look()
}

// settle runs all of them until there is nothing more to do, however often the operator fails.
func (l *life) settle(phase string) {
	l.t.Helper()
	l.look()
	for range 40 {
		moments, writes := len(l.moments), len(l.writes)
		err := l.reconcileOnce()
		l.play()
		if err == nil && !l.misled && len(l.moments) == moments && len(l.writes) == writes {
			l.checkQuiet(phase)
			if len(l.plan) > 0 && len(l.struck) == len(l.plan) {
				// A fault shows its effects by the end of the following phase, or never.
				if l.phases++; l.phases > 2 {
					panic(over{})
				}
			}
			return
		}
	}
	l.violate("I5 bounded work: the operator does not come to rest after %q", phase)
}

// checkQuiet checks the end of each phase: nothing more is written, not even after a restart.
func (l *life) checkQuiet(phase string) {
	l.t.Helper()
	writes := len(l.writes)
	plan := l.plan
	l.plan = nil
	calls := l.calls
	defer func() { l.plan, l.calls = plan, calls }()
	for _, again := range []func(){func() {}, l.restart} {
		again()
		if err := l.reconcileOnce(); err != nil {
			l.violate("I1 in the end: after %q the operator fails: %v", phase, err)
		}
		if len(l.writes) > writes {
			l.violate("I1 in the end: after %q the operator writes again: %q", phase, l.writes[writes:])
			return
		}
	}
}

// expectServing checks what the user must see in the end: the Deployment as it should be, and a status that says so.
func (l *life) expectServing(phase string) {
	l.t.Helper()
	mc, found := find(l, &cachev1alpha1.Memcached{})
	deployment, made := find(l, &appsv1.Deployment{})
	if !found || !made {
		l.violate("I1 in the end: after %q Memcached: %t, Deployment: %t, want both", phase, found, made)
		return
	}
	if !isControlledBy(deployment, mc.UID) {
		l.violate("I3 ownership: after %q the Deployment belongs to %v", phase, deployment.OwnerReferences)
	}
	if paths := ssa.Drift(desiredDeployment(mc, testImage), deployment); len(paths) > 0 {
		l.violate("I1 in the end: after %q not as it should be: %q", phase, paths)
	}
	l.expectConditions(phase, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	if got := len(mc.Status.Nodes); got != int(*mc.Spec.Size) {
		l.violate("I1 in the end: after %q %d nodes, want %d", phase, got, *mc.Spec.Size)
	}
}

func (l *life) expectConditions(phase string, want ...string) {
	mc, _ := find(l, &cachev1alpha1.Memcached{})
	if diff := cmp.Diff(want, conditionStrings(mc.Status)); diff != "" {
		l.violate("I1 in the end: conditions after %q (-want +got):\n%s", phase, diff)
	}
	for _, condition := range mc.Status.Conditions {
		if condition.ObservedGeneration != mc.Generation {
			l.violate("I1 in the end: after %q %s speaks of generation %d, want %d", phase, condition.Type, condition.ObservedGeneration, mc.Generation)
		}
	}
}

// expectUntouched checks that the operator has not changed a Deployment that it does not own.
func (l *life) expectUntouched(phase string, before *appsv1.Deployment) {
	l.t.Helper()
	now, _ := find(l, &appsv1.Deployment{})
	if diff := cmp.Diff(before, now); diff != "" {
		l.violate("I3 ownership: after %q a Deployment that is not ours is another (-before +after):\n%s", phase, diff)
	}
}

// createMemcached creates a Memcached as a user does.
func (l *life) createMemcached(uid types.UID, size int32) {
	l.t.Helper()
	mc := testMemcached(size)
	mc.UID = uid
	if err := l.cluster.Create(l.t.Context(), mc); err != nil {
		l.t.Fatal(err)
	}
}

// collectGarbage plays the garbage collector: it deletes objects whose owner is gone.
func (l *life) collectGarbage() {
	l.t.Helper()
	alive := map[types.UID]bool{}
	if mc, found := find(l, &cachev1alpha1.Memcached{}); found {
		alive[mc.UID] = true
	}
	collect := func(object client.Object) {
		controller := metav1.GetControllerOfNoCopy(object)
		if controller != nil && !alive[controller.UID] {
			l.delete(object)
			return
		}
		alive[object.GetUID()] = true
	}
	if deployment, found := find(l, &appsv1.Deployment{}); found {
		collect(deployment)
	}
	replicaSets := &appsv1.ReplicaSetList{}
	if err := l.cluster.List(l.t.Context(), replicaSets); err != nil {
		l.t.Fatal(err)
	}
	for i := range replicaSets.Items {
		collect(&replicaSets.Items[i])
	}
	for _, pod := range l.pods() {
		collect(&pod)
	}
	l.look()
}

// end deletes the Memcached and checks that nothing is left.
func (l *life) end() {
	l.t.Helper()
	l.delete(l.memcached())
	l.settle("deleted")
	l.collectGarbage()
	l.settle("garbage collected")
	if deployment, found := find(l, &appsv1.Deployment{}); found {
		l.violate("I4 leak: the Deployment %s with the owners %v is left", deployment.UID, deployment.OwnerReferences)
	}
}

// lives are the scenarios that the explorer runs.
var lives = map[string]func(*life){
	"whole": func(l *life) {
		l.createMemcached("memcached-uid", 1)
		l.settle("created")
		l.expectServing("created")
		l.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
		l.settle("scaled up")
		l.expectServing("scaled up")
		l.updateDeployment(func(deployment *appsv1.Deployment) {
			deployment.Spec.Template.Spec.Containers[0].Image = "somebody-elses"
			deployment.Spec.Replicas = new(int32(4))
			deployment.OwnerReferences = nil
		})
		l.settle("drifted")
		l.expectServing("drifted")
		l.delete(l.deployment())
		l.collectGarbage()
		l.settle("its Deployment deleted")
		l.expectServing("its Deployment deleted")
		l.setReady(0, corev1.ConditionFalse)
		l.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size, *spec.ContainerPort = 1, 22122 })
		l.settle("scaled down, with another port")
		l.expectServing("scaled down, with another port")
		l.end()
	},
	"stranger": func(l *life) {
		l.newDeployment(func(*appsv1.Deployment) {})
		stranger := l.deployment()
		l.createMemcached("memcached-uid", 1)
		l.settle("created beside a stranger")
		l.expectUntouched("created beside a stranger", stranger)
		l.expectConditions("created beside a stranger", "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/NameTaken")
		l.delete(stranger)
		l.settle("the stranger gone")
		l.expectServing("the stranger gone")
		l.end()
	},
	"recreated": func(l *life) {
		l.createMemcached("memcached-uid", 1)
		l.settle("created")
		l.delete(l.memcached())
		l.createMemcached("successor-uid", 1)
		predecessors := l.deployment()
		l.settle("made anew")
		l.expectUntouched("made anew", predecessors)
		l.expectConditions("made anew", "Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected")
		l.collectGarbage()
		l.settle("the predecessor's Deployment gone")
		l.expectServing("the predecessor's Deployment gone")
		l.end()
	},
	"held": func(l *life) {
		l.createMemcached("memcached-uid", 1)
		l.settle("created")
		mc := l.memcached()
		mc.Finalizers = []string{"example.com/hold"}
		l.update(mc)
		l.delete(mc)
		l.look()
		l.delete(l.deployment())
		l.collectGarbage()
		writes := len(l.writes)
		l.settle("held by a finalizer")
		for _, write := range l.writes[writes:] {
			if strings.HasSuffix(write, " Deployment") {
				l.violate("I4 leak: %q for a Memcached that is being deleted", write)
			}
		}
		mc = l.memcached()
		mc.Finalizers = nil
		l.update(mc)
		l.collectGarbage()
		l.settle("let go")
		if _, found := find(l, &appsv1.Deployment{}); found {
			l.violate("I4 leak: the Deployment is left")
		}
	},
}

// lived runs a life with the faults of plan, and returns it.
func lived(t *testing.T, name string, plan map[int]fault, sabotage func(*life, client.WithWatch) client.WithWatch) (l *life) {
	l = newLife(t, plan, sabotage)
	defer func() {
		if reason := recover(); reason != nil && reason != (over{}) {
			panic(reason)
		}
	}()
	lives[name](l)
	return l
}

// mayWriteMore is how many more writes each fault may cause, compared with a life without faults.
const mayWriteMore = 6

// checkWork checks a life as a whole.
func (l *life) checkWork(healthy *life) {
	if most := len(healthy.writes) + mayWriteMore*len(l.plan); len(l.writes) > most {
		l.violate("I5 bounded work: %d writes, want at most %d: %q", len(l.writes), most, l.writes)
	}
}

// report fails the test with what was violated.
func (l *life) report(t *testing.T) {
	t.Helper()
	for _, violation := range l.violations {
		t.Errorf("%s\nafter %q", violation, l.struck)
	}
}

func TestFaultExplorer(t *testing.T) {
	var (
		mutex      sync.Mutex
		runs       int
		violations int
	)
	count := func(l *life) {
		mutex.Lock()
		defer mutex.Unlock()
		runs++
		violations += len(l.violations)
	}
	t.Cleanup(func() { t.Logf("%d runs, %d violations", runs, violations) })

	names := []string{"held", "recreated", "stranger", "whole"}
	healthy := map[string]*life{}
	for _, name := range names {
		healthy[name] = lived(t, name, nil, nil)
		healthy[name].report(t)
		count(healthy[name])
	}

	if *explorerSeed == 0 {
		for _, name := range names {
			for i, here := range healthy[name].calls {
				for _, kind := range here.faults() {
					t.Run(fmt.Sprintf("%s/%d %s/%s", name, i, here.name, kind), func(t *testing.T) {
						t.Parallel()
						l := lived(t, name, map[int]fault{i: kind}, nil)
						l.checkWork(healthy[name])
						l.report(t)
						count(l)
						if len(l.struck) == 0 {
							t.Error("the fault never struck")
						}
					})
				}
			}
		}
	}
	seeds := make([]uint64, 0, *explorerRuns)
	if *explorerSeed != 0 {
		seeds = append(seeds, *explorerSeed)
	}
	for seed := uint64(1); *explorerSeed == 0 && seed <= uint64(*explorerRuns); seed++ {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			name, plan := randomPlan(seed, names, healthy)
			l := lived(t, name, plan, nil)
			l.checkWork(healthy[name])
			l.report(t)
			count(l)
			if t.Failed() {
				t.Logf("once more: go test ./operator/internal/controller -run TestFaultExplorer -explorer.seed=%d", seed)
			}
		})
	}
}

// edited returns a JSON patch after another JSON patch has changed it.
func edited(object client.Object, patch client.Patch, edits string) (client.Patch, error) {
	operations, err := patch.Data(object)
	if err != nil {
		return nil, err
	}
	edit, err := jsonpatch.DecodePatch([]byte(edits))
	if err != nil {
		return nil, err
	}
	operations, err = edit.Apply(operations)
	return client.RawPatch(patch.Type(), operations), err
}

// TestFaultExplorerFindsFaultyOperators proves that the explorer detects faults: each of these operators has one.
func TestFaultExplorerFindsFaultyOperators(t *testing.T) {
	for _, test := range []struct {
		name, life, want string
		// atLast is the call whose last occurrence gets the fault, if there is to be a fault.
		atLast   string
		fault    fault
		sabotage func(*life, client.WithWatch) client.WithWatch
	}{
		{
			name: "writes over what has its name", life: "stranger", want: "I3 ownership",
			sabotage: func(l *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
						err := c.Create(ctx, object, options...)
						if !apierrors.IsAlreadyExists(err) {
							return err
						}
						live := &appsv1.Deployment{}
						if err := l.cluster.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
							return err
						}
						live.Spec = object.(*appsv1.Deployment).Spec
						return c.Update(ctx, live)
					},
				})
			},
		},
		{
			name: "owns nothing that it creates", life: "whole", want: "I4 leak",
			sabotage: func(_ *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
						object.SetOwnerReferences(nil)
						return c.Create(ctx, object, options...)
					},
					Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
						object.(*acappsv1.DeploymentApplyConfiguration).OwnerReferences = nil
						return c.Apply(ctx, object, options...)
					},
				})
			},
		},
		{
			name: "says Available whatever the pods do", life: "whole", want: "I2 truth",
			sabotage: func(_ *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
						patch, err := edited(object, patch, `[{"op": "replace", "path": "/1/value/conditions/0/status", "value": "True"}]`)
						if err != nil {
							return err
						}
						return c.SubResource(subResource).Patch(ctx, object, patch, options...)
					},
				})
			},
		},
		{
			name: "tells of the pods that there were before", life: "whole", want: "I1 in the end",
			sabotage: func(l *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
						return l.earlierList(list)
					},
				})
			},
		},
		{
			name: "writes its status each time", life: "whole", want: "I5 bounded work",
			sabotage: func(l *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
						err := c.Get(ctx, key, object, options...)
						if mc, ok := object.(*cachev1alpha1.Memcached); ok {
							l.reconciler.lastWrites = lastWrites{}
							mc.Status = cachev1alpha1.MemcachedStatus{}
						}
						return err
					},
				})
			},
		},
		{
			// Only a fault distinguishes this operator from a correct one.
			name: "takes a failed write for a success", life: "whole", want: "I1 in the end",
			atLast: "patch Memcached status", fault: serverError,
			sabotage: func(_ *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
						if c.SubResource(subResource).Patch(ctx, object, patch, options...) != nil {
							object.SetResourceVersion("1000000")
						}
						return nil
					},
				})
			},
		},
		{
			name: "gives the successor what it computed for the predecessor", life: "recreated", want: "I2 truth",
			sabotage: func(l *life, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
						err := c.Get(ctx, key, object, options...)
						if err == nil && object.GetUID() == "successor-uid" {
							predecessor := l.specs["memcached-uid/1"]
							predecessor.DeepCopyInto(object.(*cachev1alpha1.Memcached))
						}
						return err
					},
					SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
						patch, err := edited(object, patch, `[{"op": "remove", "path": "/0"}]`)
						if err != nil {
							return err
						}
						return c.SubResource(subResource).Patch(ctx, object, patch, options...)
					},
				})
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var plan map[int]fault
			if test.fault != "" {
				healthy := lived(t, test.life, nil, nil)
				for i, here := range healthy.calls {
					if here.name == test.atLast {
						plan = map[int]fault{i: test.fault}
					}
				}
			}
			l := lived(t, test.life, plan, test.sabotage)
			found := slices.ContainsFunc(l.violations, func(violation string) bool { return strings.HasPrefix(violation, test.want) })
			if !found {
				t.Errorf("violations = %q, want one of %q", l.violations, test.want)
			}
			if len(l.violations) > 0 {
				t.Logf("%d violations, the first: %s", len(l.violations), l.violations[0])
			}
		})
	}
}

// randomPlan returns the life and the faults of a seed, which are always the same.
func randomPlan(seed uint64, names []string, healthy map[string]*life) (string, map[int]fault) {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it must be reproducible, not secret
	name := names[random.IntN(len(names))]
	plan := map[int]fault{}
	all := []fault{crashBefore, crashAfter, lostReply, serverError, conflict, staleRead}
	for range 2 + random.IntN(6) {
		plan[random.IntN(len(healthy[name].calls))] = all[random.IntN(len(all))]
	}
	return name, plan
}
