package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// Checks are what users of any Memcached operator rely on, each a step of a feature. A step creates objects of its own, so one
// feature may have several.
type Checks struct {
	Operator
	// ProgressInterval is how often the operator may report mere progress; zero means once a second.
	ProgressInterval time.Duration
}

const (
	// defaultPort is memcached's own.
	defaultPort = 11211
	// otherPort is what a rollout changes the port to.
	otherPort = 11333
	// largest is the largest size that the points ask for.
	largest = 5
)

// must fails the test when something that a check needs did not work.
func must(s *framework.Scope, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// within returns the size, or the largest one that the API allows.
func (a API) within(size int32) int32 {
	if a.Largest > 0 {
		return min(size, a.Largest)
	}
	return size
}

// create creates a custom resource. Its name starts with that name, unless it is the canary's.
func (c Checks) create(ctx context.Context, s *framework.Scope, name string, size int32) client.Object {
	if name != Canary {
		name = s.NewName(name)
	}
	object := c.New(s.Namespace, name, size, defaultPort)
	must(s, s.Client.Create(ctx, object))
	return object
}

// change patches an object.
func change(ctx context.Context, s *framework.Scope, object client.Object, edit func()) {
	before := object.DeepCopyObject().(client.Object)
	edit()
	must(s, s.Client.Patch(ctx, object, client.MergeFrom(before)))
}

// resize changes the size of a custom resource.
func (c Checks) resize(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	change(ctx, s, object, func() { c.Resize(object, size) })
}

// patch merges into an object.
func patch(ctx context.Context, s *framework.Scope, object client.Object, patch string) {
	must(s, s.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// get reads an object.
func get(ctx context.Context, s *framework.Scope, object client.Object) {
	must(s, s.Client.Get(ctx, client.ObjectKeyFromObject(object), object))
}

// revision returns the revision of an object that was read.
func revision(s *framework.Scope, object client.Object) uint64 {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	must(s, err)
	return revision
}

// deployment refers to the Deployment behind a custom resource.
func (c Checks) deployment(object client.Object) *appsv1.Deployment {
	name := strings.ReplaceAll(c.Describe().Deployment, "{name}", object.GetName())
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: name}}
}

// versions returns every version until now of what is recorded, without the pods of other objects.
func (c Checks) versions(ctx context.Context, s *framework.Scope, object client.Object) []record.Version {
	own := c.deployment(object).Name + "-"
	return slices.DeleteFunc(s.Versions(ctx), func(v record.Version) bool {
		return v.Object.GetKind() == "Pod" && !strings.HasPrefix(v.Object.GetName(), own)
	})
}

// waitForSize waits until the Deployment has that many pods, all ready.
func (c Checks) waitForSize(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(c.deployment(object)), size)
}

// waitForCondition waits until the custom resource has the condition, for that reason unless it is empty, whichever generation that is about: a
// point of its own asks for observedGeneration.
func waitForCondition(ctx context.Context, s *framework.Scope, object client.Object, kind string, status metav1.ConditionStatus, reason string) {
	waitForMatch(ctx, s, object, framework.Condition{Type: kind, Status: status, Reason: reason}.String(), func(c metav1.Condition) bool {
		return c.Type == kind && c.Status == status && (reason == "" || c.Reason == reason)
	}, true)
}

// waitForNotTrue waits until the condition is not True. One that the API does not have never is.
func waitForNotTrue(ctx context.Context, s *framework.Scope, object client.Object, kind string) {
	waitForMatch(ctx, s, object, fmt.Sprintf("no %s=True", kind), func(c metav1.Condition) bool {
		return c.Type == kind && c.Status == metav1.ConditionTrue
	}, false)
}

// waitForMatch waits until the custom resource has a condition that matches, or until it has none.
func waitForMatch(ctx context.Context, s *framework.Scope, object client.Object, expected string, match func(metav1.Condition) bool, wanted bool) {
	framework.WaitForObject(ctx, s, object.DeepCopyObject().(client.Object), gcustom.MakeMatcher(func(seen client.Object) (bool, error) {
		conditions, err := framework.ConditionsOf(seen)
		if err != nil {
			return false, err
		}
		has := false
		for _, condition := range conditions {
			has = has || match(condition)
		}
		if has != wanted {
			return false, fmt.Errorf("expected %s; last seen: %s", expected, framework.DescribeConditions(conditions))
		}
		return true, nil
	}))
}

// waitForAvailable waits until the custom resource is of that size and says so.
func (c Checks) waitForAvailable(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	c.waitForSize(ctx, s, object, size)
	waitForCondition(ctx, s, object, c.Describe().Conditions.Available, metav1.ConditionTrue, "")
}

// created creates a custom resource, and waits until it is available.
func (c Checks) created(ctx context.Context, s *framework.Scope, name string, size int32) client.Object {
	object := c.create(ctx, s, name, size)
	c.waitForAvailable(ctx, s, object, size)
	return object
}

// waitForSettled waits until the custom resource is available, and neither progresses nor fails.
func (c Checks) waitForSettled(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	c.waitForAvailable(ctx, s, object, size)
	waitForNotTrue(ctx, s, object, c.Describe().Conditions.Progressing)
	waitForNotTrue(ctx, s, object, c.Describe().Conditions.Degraded)
}

// waitForFailure waits until the custom resource says that something is wrong, for that reason unless it is empty.
func (c Checks) waitForFailure(ctx context.Context, s *framework.Scope, object client.Object, reason string) {
	if degraded := c.Describe().Conditions.Degraded; degraded != "" {
		waitForCondition(ctx, s, object, degraded, metav1.ConditionTrue, reason)
		return
	}
	waitForCondition(ctx, s, object, c.Describe().Conditions.Available, metav1.ConditionFalse, reason)
}

// remove deletes a custom resource, and waits until it and its Deployment are gone.
func (c Checks) remove(ctx context.Context, s *framework.Scope, object client.Object, options ...client.DeleteOption) {
	must(s, s.Client.Delete(ctx, object, options...))
	framework.WaitForDeletion(ctx, s, object, c.deployment(object))
}

// crash lets the pods of a custom resource's Deployment crash, again and again until restore. It skips the test where pods run.
func (c Checks) crash(ctx context.Context, s *framework.Scope, object client.Object) (restore func()) {
	s.NeedsSimulation("their kubelets say how a pod is")
	deployment := c.deployment(object)
	get(ctx, s, deployment)
	var pods corev1.PodList
	must(s, s.Client.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)))
	simulate := func(value string) {
		for i := range pods.Items {
			patch(ctx, s, &pods.Items[i], `{"metadata":{"annotations":{"testbed.example.com/simulate":`+value+`}}}`)
		}
	}
	simulate(`"crashloop"`)
	return func() {
		simulate("null")
		for i := range pods.Items {
			framework.WaitForObject(ctx, s, &pods.Items[i], gomega.HaveField("Status.Conditions", gomega.ContainElement(gomega.And(
				gomega.HaveField("Type", corev1.PodReady), gomega.HaveField("Status", corev1.ConditionTrue)))))
		}
	}
}

// limit has a quota allow none of a resource, and returns when it is in force. It is lifted by lift.
func limit(ctx context.Context, s *framework.Scope, name corev1.ResourceName) (lift func()) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("0")}},
	}
	must(s, s.Client.Create(ctx, quota))
	framework.WaitForObject(ctx, s, quota, gomega.HaveField("Status.Hard", gomega.Not(gomega.BeEmpty())))
	return func() {
		must(s, s.Client.Delete(ctx, quota))
	}
}

// runAsBefore has the operator run as it was first started when the step is over.
func runAsBefore(ctx context.Context, s *framework.Scope) {
	s.Cleanup(func() {
		if err := s.Operator.Restart(context.WithoutCancel(ctx)); err != nil {
			s.Error(err)
		}
	})
}

// Canary names the objects that Barrier creates.
const Canary = "canary"

// Barrier returns when the operator has worked off what it had to do: a canary that is created now is available, the audit log has
// what the operator wrote about it, and the canary is gone.
func (c Checks) Barrier(ctx context.Context, s *framework.Scope) {
	since := s.Mark()
	canary := c.created(ctx, s, Canary, 1)
	framework.WaitForRequest(ctx, s, framework.RequestInput{
		What:   "a write about the canary",
		Writes: s.Writes(since, audit.About(Canary)),
		Match:  func(*auditv1.Event) bool { return true },
	})
	c.remove(ctx, s, canary)
}
