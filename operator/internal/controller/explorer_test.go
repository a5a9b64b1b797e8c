package controller

import (
	"context"
	"encoding/json"
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

// The explorer runs the same scenarios repeatedly, each time with another fault in another of the operator's calls to the API.
// After every call and every phase it checks what must never happen, and what must be true in the end.

var (
	explorerSeed = flag.Uint64("explorer.seed", 0, "run only the scenario that TestFaultExplorer derives from this seed")
	explorerRuns = flag.Int("explorer.random", 50, "how many runs with several random faults each TestFaultExplorer tries")
)

// fault is what can happen to a call.
type fault string

const (
	crashBefore fault = "crash before"
	crashAfter  fault = "crash after"
	lostReply   fault = "lost reply"
	serverError fault = "500"
	// serverErrors and lasting happen to the call, and to the next ones of its name: to a few of them, or to all until the end of
	// the phase. That is what a write meets while the webhook of another program does not respond.
	serverErrors fault = "500, 3 times"
	lasting      fault = "500, lasting"

	conflict  fault = "409"
	staleRead fault = "stale read"
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
		return []fault{crashBefore, crashAfter, lostReply, serverError, serverErrors, lasting, conflict}
	case c.cached:
		return []fault{staleRead}
	}
	return []fault{crashBefore, serverError, serverErrors, lasting}
}

// isReportable reports whether the operator can write a status while the call fails.
func (c call) isReportable() bool { return c.name != patchStatus }

// errServer is the API server's answer to a call with a server error.
var errServer = apierrors.NewInternalError(errors.New("etcd is gone"))

// crash is the value that the operator panics with when it crashes on purpose. stopped is the value that stops a run early.
type (
	crash   struct{}
	stopped struct{}
)

// clusterState is a copy of every object at one time.
type clusterState struct {
	memcached   *cachev1alpha1.Memcached
	deployment  *appsv1.Deployment
	replicaSets []metav1.PartialObjectMetadata
	pods        []corev1.Pod
}

// scenarioRun is one run of a scenario on a fakeCluster with faults. It records what happened.
type scenarioRun struct {
	*fakeCluster
	plan map[int]fault
	// calls are the operator's calls, and injected are the faults that were injected into them.
	calls    []call
	injected []string
	// failing is the call that fails from now on, and failures is how many times more: no limit if it is negative.
	failing  call
	failures int
	// phases is the number of phases that have finished since the last planned fault.
	phases int
	// readStale is whether the current reconcile has read something stale.
	readStale bool
	// states are the recorded states. The last one is the current one.
	states []clusterState
	// everReady are the pods that were ready at any time, by name, with their hash and their Memcached.
	everReady map[string][2]string
	// specs are the Memcached's specs by UID and generation.
	specs map[string]*cachev1alpha1.Memcached

	violations []string
	// bug, if not nil, replaces the operator's clients with ones that make it faulty.
	bug func(*scenarioRun, client.WithWatch) client.WithWatch
}

func (run *scenarioRun) violate(format string, args ...any) {
	run.violations = append(run.violations, fmt.Sprintf(format, args...))
}

// newScenarioRun returns a run without a Memcached.
func newScenarioRun(t *testing.T, plan map[int]fault, bug func(*scenarioRun, client.WithWatch) client.WithWatch) *scenarioRun {
	run := &scenarioRun{
		fakeCluster: newFakeCluster(t, 1), plan: plan, bug: bug,
		everReady: map[string][2]string{}, specs: map[string]*cachev1alpha1.Memcached{},
	}
	run.delete(run.memcached())
	run.afterStatus = run.checkStatus
	run.unstored = func(event string) { run.violate("I2 truth: %s", event) }
	run.restart()
	return run
}

// restart starts an operator without records of earlier writes.
func (run *scenarioRun) restart() {
	run.restartOperator(testImage)
	cluster := interceptor.NewClient(run.api, run.operatorCalls())
	cached, live := interceptor.NewClient(cluster, run.faultyCalls(true)), interceptor.NewClient(cluster, run.faultyCalls(false))
	if run.bug != nil {
		cached, live = run.bug(run, cached), run.bug(run, live)
	}
	run.reconciler.Client, run.reconciler.APIReader = cached, live
}

// faultyCalls intercepts each call of the operator and applies the planned fault.
func (run *scenarioRun) faultyCalls(cached bool) interceptor.Funcs {
	do := func(name string, write bool, perform, stale func() error) error {
		current := call{name, write, cached && !write}
		fault := run.plan[len(run.calls)]
		run.calls = append(run.calls, current)
		if !slices.Contains(current.faults(), fault) {
			fault = ""
		}
		if fault != "" {
			run.injected = append(run.injected, fmt.Sprintf("%s at call %d (%s)", fault, len(run.calls)-1, name))
		}
		switch fault {
		case serverErrors:
			run.failing, run.failures = current, 3
		case lasting:
			run.failing, run.failures = current, -1
		}
		if run.failures != 0 && current == run.failing {
			run.failures--
			return errServer
		}
		switch fault {
		case crashBefore:
			panic(crash{})
		case serverError:
			return errServer
		case conflict:
			return apierrors.NewConflict(deployments, testName, errors.New("changed in the meantime"))
		case staleRead:
			run.readStale = true
			return stale()
		}
		err := perform()
		if write {
			run.recordState()
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
				func() error { return read(c.Get(ctx, key, object, options...)) }, func() error { return read(run.earlier(object)) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return do("list "+kindOf(list), false, func() error { return c.List(ctx, list, options...) }, func() error { return run.earlierList(list) })
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
func find[T client.Object](run *scenarioRun, object T) (T, bool) {
	run.t.Helper()
	err := run.api.Get(run.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: testName}, object)
	if client.IgnoreNotFound(err) != nil {
		run.t.Fatal(err)
	}
	return object, err == nil
}

// recordState records the current objects.
func (run *scenarioRun) recordState() {
	run.t.Helper()
	var now clusterState
	if mc, found := find(run, &cachev1alpha1.Memcached{}); found {
		now.memcached = mc
		run.specs[fmt.Sprintf("%s/%d", mc.UID, mc.Generation)] = mc
	}
	if deployment, found := find(run, &appsv1.Deployment{}); found {
		now.deployment = deployment
	}
	replicaSets := &metav1.PartialObjectMetadataList{}
	replicaSets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := run.api.List(run.t.Context(), replicaSets); err != nil {
		run.t.Fatal(err)
	}
	now.replicaSets, now.pods = replicaSets.Items, run.pods()
	for _, pod := range now.pods {
		if isReady(pod) {
			run.everReady[pod.Name] = [2]string{pod.Labels[cachev1alpha1.LabelTemplateHash], pod.Labels[cachev1alpha1.LabelMemcachedUID]}
		}
	}
	run.states = append(run.states, now)
}

// earlier reads the previous version of an object.
func (run *scenarioRun) earlier(object client.Object) error {
	version := func(m clusterState) client.Object {
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
	current := version(run.states[len(run.states)-1])
	found := current
	for _, m := range slices.Backward(run.states) {
		if found = version(m); !same(found, current) {
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

// earlierList reads the state before the current one.
func (run *scenarioRun) earlierList(list client.ObjectList) error {
	before := run.states[max(0, len(run.states)-2)]
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
func (run *scenarioRun) checkStatus() {
	mc, found := find(run, &cachev1alpha1.Memcached{})
	if !found {
		return
	}
	available := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionAvailable)
	if available == nil || available.Status != metav1.ConditionTrue {
		return
	}
	reported := run.specs[fmt.Sprintf("%s/%d", mc.UID, available.ObservedGeneration)]
	if reported == nil {
		run.violate("I2 truth: Available=True for generation %d, which this Memcached never had", available.ObservedGeneration)
		return
	}
	current := templateHash(desiredDeployment(reported, testImage))
	run.checkReady("Available=True", *reported.Spec.Size, func(_, uid string) bool { return uid == string(mc.UID) })
	if meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionProgressing).Reason == cachev1alpha1.ReasonConverged {
		run.checkReady("Converged", *reported.Spec.Size, func(hash, uid string) bool { return uid == string(mc.UID) && hash == current })
	}
}

// checkReady checks a status that reports size ready pods, identified by their hash and their Memcached.
func (run *scenarioRun) checkReady(claim string, size int32, are func(hash, uid string) bool) {
	before, now := int32(0), int32(0)
	for _, pod := range run.everReady {
		if are(pod[0], pod[1]) {
			before++
		}
	}
	for _, pod := range run.pods() {
		if was, ok := run.everReady[pod.Name]; ok && are(was[0], was[1]) && pod.DeletionTimestamp == nil && isReady(pod) {
			now++
		}
	}
	if before < size || !run.readStale && now < size {
		run.violate("I2 truth: %s with %d of %d pods ready, %d ever", claim, now, size, before)
	}
}

// reconcileOnce calls the operator, and starts it again if it crashed.
func (run *scenarioRun) reconcileOnce() (err error) {
	run.readStale = false
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case crash:
			run.restart()
			err = errors.New("the operator crashed")
		default:
			run.violate("I6 panic: %v", reason)
			run.restart()
			err = errors.New("the operator panicked")
		}
	}()
	return run.fakeCluster.reconcileOnce()
}

// runControllers runs the Deployment's controller and the kubelets on the operator's objects, one pod at a time.
func (run *scenarioRun) runControllers() {
	run.t.Helper()
	deployment, found := find(run, &appsv1.Deployment{})
	if !found || deployment.DeletionTimestamp != nil || deployment.Spec.Template.Labels[cachev1alpha1.LabelTemplateHash] == "" {
		return
	}
	if deployment.Status.ObservedGeneration < deployment.Generation || int32(len(run.pods())) != *deployment.Spec.Replicas {
		run.controlDeployment()
	} else if i := slices.IndexFunc(run.pods(), func(pod corev1.Pod) bool {
		return !isReady(pod)
	}); i >= 0 {
		run.setReady(i, corev1.ConditionTrue)
	} else {
		return
	}
	run.recordState()
}

// settle runs the operator and the other controllers until there is nothing more to do, however often the operator fails. A fault
// that lasts ends when the operator no longer writes anything because of it.
func (run *scenarioRun) settle(phase string) {
	run.t.Helper()
	run.recordState()
	quiet := 0
	for range 40 {
		states, writes := len(run.states), len(run.writes)
		err := run.reconcileOnce()
		run.runControllers()
		if len(run.states) > states || len(run.writes) > writes {
			quiet = 0
			continue
		}
		if quiet++; err != nil && run.failures < 0 && quiet == 3 {
			if run.failing.isReportable() {
				run.expectReported(phase)
			}
			run.failures = 0
		}
		if err == nil && !run.readStale {
			run.failures = 0
			run.checkSettled(phase)
			if len(run.plan) > 0 && len(run.injected) == len(run.plan) {
				// A fault shows its effects by the end of the following phase, or never.
				if run.phases++; run.phases > 2 {
					panic(stopped{})
				}
			}
			return
		}
	}
	run.violate("I5 bounded work: the operator does not settle after %q", phase)
}

// checkSettled checks the end of each phase: nothing more is written, not even after a restart.
func (run *scenarioRun) checkSettled(phase string) {
	run.t.Helper()
	writes := len(run.writes)
	plan := run.plan
	run.plan = nil
	calls := run.calls
	defer func() { run.plan, run.calls = plan, calls }()
	for _, again := range []func(){func() {}, run.restart} {
		again()
		if err := run.reconcileOnce(); err != nil {
			run.violate("I1 convergence: after %q the operator fails: %v", phase, err)
		}
		if len(run.writes) > writes {
			run.violate("I1 convergence: after %q the operator writes again: %q", phase, run.writes[writes:])
			return
		}
	}
}

// expectServing checks what the user must see in the end: the Deployment as it should be, and a status that says so.
func (run *scenarioRun) expectServing(phase string) {
	run.t.Helper()
	mc, found := find(run, &cachev1alpha1.Memcached{})
	deployment, exists := find(run, &appsv1.Deployment{})
	if !found || !exists {
		run.violate("I1 convergence: after %q Memcached: %t, Deployment: %t, want both", phase, found, exists)
		return
	}
	if !isControlledBy(deployment, mc.UID) {
		run.violate("I3 ownership: after %q the Deployment belongs to %v", phase, deployment.OwnerReferences)
	}
	if paths := ssa.Drift(desiredDeployment(mc, testImage), deployment); len(paths) > 0 {
		run.violate("I1 convergence: after %q not as it should be: %q", phase, paths)
	}
	run.expectConditions(phase, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	if got := len(mc.Status.Nodes); got != int(*mc.Spec.Size) {
		run.violate("I1 convergence: after %q %d nodes, want %d", phase, got, *mc.Spec.Size)
	}
}

// expectReported checks what the user must see while a call fails that the operator needs: a status of the current spec that
// gives the error message and does not promise more than there is.
func (run *scenarioRun) expectReported(phase string) {
	run.t.Helper()
	mc, found := find(run, &cachev1alpha1.Memcached{})
	if !found || mc.DeletionTimestamp != nil {
		return
	}
	degraded := degradedOf(mc.Status)
	if degraded.Status != metav1.ConditionTrue || !strings.Contains(degraded.Message, errServer.ErrStatus.Message) {
		run.violate("I7 report: while %q fails in %q, Degraded is %s: %q", run.failing.name, phase, degraded.Status, degraded.Message)
	}
	for _, condition := range mc.Status.Conditions {
		if condition.ObservedGeneration != mc.Generation {
			run.violate("I7 report: while %q fails in %q, %s is of generation %d, want %d",
				run.failing.name, phase, condition.Type, condition.ObservedGeneration, mc.Generation)
		}
	}
	run.checkStatus()
}

func (run *scenarioRun) expectConditions(phase string, want ...string) {
	mc, _ := find(run, &cachev1alpha1.Memcached{})
	if diff := cmp.Diff(want, conditionStrings(mc.Status)); diff != "" {
		run.violate("I1 convergence: conditions after %q (-want +got):\n%s", phase, diff)
	}
	for _, condition := range mc.Status.Conditions {
		if condition.ObservedGeneration != mc.Generation {
			run.violate("I1 convergence: after %q %s has observedGeneration %d, want %d", phase, condition.Type, condition.ObservedGeneration, mc.Generation)
		}
	}
}

// expectUntouched checks that the operator has not changed a Deployment that it does not own.
func (run *scenarioRun) expectUntouched(phase string, before *appsv1.Deployment) {
	run.t.Helper()
	now, _ := find(run, &appsv1.Deployment{})
	if diff := cmp.Diff(before, now); diff != "" {
		run.violate("I3 ownership: after %q a foreign Deployment has changed (-before +after):\n%s", phase, diff)
	}
}

// createMemcached creates a Memcached as a user does.
func (run *scenarioRun) createMemcached(uid types.UID, size int32) {
	run.t.Helper()
	mc := testMemcached(size)
	mc.UID = uid
	if err := run.api.Create(run.t.Context(), mc); err != nil {
		run.t.Fatal(err)
	}
}

// collectGarbage plays the garbage collector: it deletes objects whose owner is gone.
func (run *scenarioRun) collectGarbage() {
	run.t.Helper()
	exists := map[types.UID]bool{}
	if mc, found := find(run, &cachev1alpha1.Memcached{}); found {
		exists[mc.UID] = true
	}
	collect := func(object client.Object) {
		controller := metav1.GetControllerOfNoCopy(object)
		if controller != nil && !exists[controller.UID] {
			run.delete(object)
			return
		}
		exists[object.GetUID()] = true
	}
	if deployment, found := find(run, &appsv1.Deployment{}); found {
		collect(deployment)
	}
	replicaSets := &appsv1.ReplicaSetList{}
	if err := run.api.List(run.t.Context(), replicaSets); err != nil {
		run.t.Fatal(err)
	}
	for i := range replicaSets.Items {
		collect(&replicaSets.Items[i])
	}
	for _, pod := range run.pods() {
		collect(&pod)
	}
	run.recordState()
}

// deleteMemcached deletes the Memcached and checks that nothing is left.
func (run *scenarioRun) deleteMemcached() {
	run.t.Helper()
	run.delete(run.memcached())
	run.settle("deleted")
	run.collectGarbage()
	run.settle("garbage collected")
	if deployment, found := find(run, &appsv1.Deployment{}); found {
		run.violate("I4 leak: the Deployment %s with the owners %v is left", deployment.UID, deployment.OwnerReferences)
	}
}

// scenarios are the scenarios that the explorer runs.
var scenarios = map[string]func(*scenarioRun){
	"lifecycle": func(run *scenarioRun) {
		run.createMemcached("memcached-uid", 1)
		run.settle("created")
		run.expectServing("created")
		run.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
		run.settle("scaled up")
		run.expectServing("scaled up")
		run.updateDeployment(func(deployment *appsv1.Deployment) {
			deployment.Spec.Template.Spec.Containers[0].Image = "somebody-elses"
			deployment.Spec.Replicas = new(int32(4))
			deployment.OwnerReferences = nil
		})
		run.settle("drifted")
		run.expectServing("drifted")
		run.delete(run.deployment())
		run.collectGarbage()
		run.settle("its Deployment deleted")
		run.expectServing("its Deployment deleted")
		run.setReady(0, corev1.ConditionFalse)
		run.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size, *spec.ContainerPort = 1, 22122 })
		run.settle("scaled down, with another port")
		run.expectServing("scaled down, with another port")
		run.deleteMemcached()
	},
	"foreign": func(run *scenarioRun) {
		run.newDeployment(func(*appsv1.Deployment) {})
		foreign := run.deployment()
		run.createMemcached("memcached-uid", 1)
		run.settle("created beside a foreign Deployment")
		run.expectUntouched("created beside a foreign Deployment", foreign)
		run.expectConditions("created beside a foreign Deployment", "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/NameTaken")
		run.delete(foreign)
		run.settle("the foreign Deployment deleted")
		run.expectServing("the foreign Deployment deleted")
		run.deleteMemcached()
	},
	"recreated": func(run *scenarioRun) {
		run.createMemcached("memcached-uid", 1)
		run.settle("created")
		run.delete(run.memcached())
		run.createMemcached("successor-uid", 1)
		predecessors := run.deployment()
		run.settle("created again")
		run.expectUntouched("created again", predecessors)
		run.expectConditions("created again", "Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected")
		run.collectGarbage()
		run.settle("the predecessor's Deployment gone")
		run.expectServing("the predecessor's Deployment gone")
		run.deleteMemcached()
	},
	"finalizer": func(run *scenarioRun) {
		run.createMemcached("memcached-uid", 1)
		run.settle("created")
		mc := run.memcached()
		mc.Finalizers = []string{"example.com/hold"}
		run.update(mc)
		run.delete(mc)
		run.recordState()
		run.delete(run.deployment())
		run.collectGarbage()
		writes := len(run.writes)
		run.settle("held by a finalizer")
		for _, write := range run.writes[writes:] {
			if strings.HasSuffix(write, " Deployment") {
				run.violate("I4 leak: %q for a Memcached that is being deleted", write)
			}
		}
		mc = run.memcached()
		mc.Finalizers = nil
		run.update(mc)
		run.collectGarbage()
		run.settle("finalizer removed")
		if _, found := find(run, &appsv1.Deployment{}); found {
			run.violate("I4 leak: the Deployment is left")
		}
	},
}

// runScenario runs a scenario with the faults of plan.
func runScenario(t *testing.T, name string, plan map[int]fault, bug func(*scenarioRun, client.WithWatch) client.WithWatch) (run *scenarioRun) {
	run = newScenarioRun(t, plan, bug)
	defer func() {
		if reason := recover(); reason != nil && reason != (stopped{}) {
			panic(reason)
		}
	}()
	scenarios[name](run)
	return run
}

// mayWriteMore is how many more writes each fault may cause, compared with a run without faults.
const mayWriteMore = 6

// checkWork checks the number of writes of the whole run.
func (run *scenarioRun) checkWork(healthy *scenarioRun) {
	if most := len(healthy.writes) + mayWriteMore*len(run.plan); len(run.writes) > most {
		run.violate("I5 bounded work: %d writes, want at most %d: %q", len(run.writes), most, run.writes)
	}
}

// report fails the test with what was violated.
func (run *scenarioRun) report(t *testing.T) {
	t.Helper()
	for _, violation := range run.violations {
		t.Errorf("%s\nafter %q", violation, run.injected)
	}
}

func TestFaultExplorer(t *testing.T) {
	var (
		mutex      sync.Mutex
		runs       int
		violations int
	)
	count := func(run *scenarioRun) {
		mutex.Lock()
		defer mutex.Unlock()
		runs++
		violations += len(run.violations)
	}
	t.Cleanup(func() { t.Logf("%d runs, %d violations", runs, violations) })

	names := []string{"finalizer", "recreated", "foreign", "lifecycle"}
	healthy := map[string]*scenarioRun{}
	for _, name := range names {
		healthy[name] = runScenario(t, name, nil, nil)
		healthy[name].report(t)
		count(healthy[name])
	}

	if *explorerSeed == 0 {
		for _, name := range names {
			for i, c := range healthy[name].calls {
				for _, kind := range c.faults() {
					t.Run(fmt.Sprintf("%s/%d %s/%s", name, i, c.name, kind), func(t *testing.T) {
						t.Parallel()
						run := runScenario(t, name, map[int]fault{i: kind}, nil)
						run.checkWork(healthy[name])
						run.report(t)
						count(run)
						if len(run.injected) == 0 {
							t.Error("the fault was never injected")
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
			run := runScenario(t, name, plan, nil)
			run.checkWork(healthy[name])
			run.report(t)
			count(run)
			if t.Failed() {
				t.Logf("repeat it with: go test ./operator/internal/controller -run TestFaultExplorer -explorer.seed=%d", seed)
			}
		})
	}
}

// wholeStatus returns a patch of a status as one that sets the status as a whole, for whatever has the name.
func wholeStatus(object client.Object, patch client.Patch) (client.Patch, error) {
	text, err := patch.Data(object)
	if err != nil {
		return nil, err
	}
	var operations []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(text, &operations); err != nil {
		return nil, err
	}
	status, conditions := map[string]any{}, []any{}
	for _, operation := range operations {
		field, isField := strings.CutPrefix(operation.Path, "/status/")
		switch {
		case operation.Op == "test" || operation.Path == "/status/conditions":
		case strings.HasPrefix(field, "conditions/"):
			conditions = append(conditions, operation.Value)
		case isField:
			status[field] = operation.Value
		case operation.Path == "/status":
			return edited(object, patch, `[{"op": "remove", "path": "/0"}]`)
		}
	}
	status["conditions"] = conditions
	whole, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": status}})
	return client.RawPatch(patch.Type(), whole), err
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
		name, scenario, want string
		// atLast is the call whose last occurrence gets the fault, if there is to be a fault.
		atLast string
		fault  fault
		bug    func(*scenarioRun, client.WithWatch) client.WithWatch
	}{
		{
			name: "writes over what has its name", scenario: "foreign", want: "I3 ownership",
			bug: func(run *scenarioRun, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
						err := c.Create(ctx, object, options...)
						if !apierrors.IsAlreadyExists(err) {
							return err
						}
						live := &appsv1.Deployment{}
						if err := run.api.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
							return err
						}
						live.Spec = object.(*appsv1.Deployment).Spec
						return c.Update(ctx, live)
					},
				})
			},
		},
		{
			name: "owns nothing that it creates", scenario: "lifecycle", want: "I4 leak",
			bug: func(_ *scenarioRun, cluster client.WithWatch) client.WithWatch {
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
			name: "reports Available whatever the pods do", scenario: "lifecycle", want: "I2 truth",
			bug: func(_ *scenarioRun, cluster client.WithWatch) client.WithWatch {
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
			name: "reports the pods of the previous state", scenario: "lifecycle", want: "I1 convergence",
			bug: func(run *scenarioRun, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
						return run.earlierList(list)
					},
				})
			},
		},
		{
			name: "writes its status each time", scenario: "lifecycle", want: "I5 bounded work",
			bug: func(run *scenarioRun, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
						err := c.Get(ctx, key, object, options...)
						if mc, ok := object.(*cachev1alpha1.Memcached); ok {
							run.reconciler.lastWrites = lastWrites{}
							mc.Status = cachev1alpha1.MemcachedStatus{}
						}
						return err
					},
				})
			},
		},
		{
			// Only a fault distinguishes this operator from a correct one.
			name: "takes a failed write for a success", scenario: "lifecycle", want: "I1 convergence",
			atLast: "patch Memcached status", fault: serverError,
			bug: func(_ *scenarioRun, cluster client.WithWatch) client.WithWatch {
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
			name: "writes no status while the Deployment fails", scenario: "lifecycle", want: "I7 report",
			atLast: createDeployment, fault: lasting,
			bug: func(_ *scenarioRun, cluster client.WithWatch) client.WithWatch {
				failed := false
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
						err := c.Create(ctx, object, options...)
						failed = err != nil
						return err
					},
					SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
						if failed {
							return nil
						}
						return c.SubResource(subResource).Patch(ctx, object, patch, options...)
					},
				})
			},
		},
		{
			name: "gives the successor what it computed for the predecessor", scenario: "recreated", want: "I2 truth",
			bug: func(run *scenarioRun, cluster client.WithWatch) client.WithWatch {
				return interceptor.NewClient(cluster, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
						err := c.Get(ctx, key, object, options...)
						if err == nil && object.GetUID() == "successor-uid" {
							predecessor := run.specs["memcached-uid/1"]
							predecessor.DeepCopyInto(object.(*cachev1alpha1.Memcached))
						}
						return err
					},
					SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
						patch, err := wholeStatus(object, patch)
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
				healthy := runScenario(t, test.scenario, nil, nil)
				for i, c := range healthy.calls {
					if c.name == test.atLast {
						plan = map[int]fault{i: test.fault}
					}
				}
			}
			run := runScenario(t, test.scenario, plan, test.bug)
			found := slices.ContainsFunc(run.violations, func(violation string) bool { return strings.HasPrefix(violation, test.want) })
			if !found {
				t.Errorf("violations = %q, want one of %q", run.violations, test.want)
			}
			if len(run.violations) > 0 {
				t.Logf("%d violations, the first: %s", len(run.violations), run.violations[0])
			}
		})
	}
}

// randomPlan returns the scenario and the faults of a seed, which are always the same.
func randomPlan(seed uint64, names []string, healthy map[string]*scenarioRun) (string, map[int]fault) {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it must be reproducible, not secret
	name := names[random.IntN(len(names))]
	plan := map[int]fault{}
	all := []fault{crashBefore, crashAfter, lostReply, serverError, serverErrors, conflict, staleRead}
	for range 2 + random.IntN(6) {
		plan[random.IntN(len(healthy[name].calls))] = all[random.IntN(len(all))]
	}
	return name, plan
}
