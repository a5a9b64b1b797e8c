package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// Checks contains the checks of an operator, each of which is a step of a feature. A step creates its own objects, so a feature may have
// several.
type Checks struct {
	Operator
	// ProgressInterval is how often the operator may report mere progress; zero means once a second.
	ProgressInterval time.Duration
	// Before is the previous version of the operator. Without it, the point about an upgrade does not apply.
	Before *Prepared
}

const (
	// defaultPort is memcached's own.
	defaultPort = 11211
	// smallest is a size that every API allows, medium is one at which pods may become ready one after another, and largest is the largest
	// size that the points ask for.
	smallest, medium, largest = 1, 3, 5
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

// several returns a size of at least 2, unless the API allows none.
func (c Checks) several(s *framework.Scope) int32 {
	most := c.Describe().within(largest)
	return s.Size(min(smallest+1, most), most)
}

// create creates a custom resource whose name starts with the prefix.
func (c Checks) create(ctx context.Context, s *framework.Scope, prefix string, size int32) client.Object {
	return c.createNamed(ctx, s, s.NewName(prefix), size)
}

// createNamed creates a custom resource of that name.
func (c Checks) createNamed(ctx context.Context, s *framework.Scope, name string, size int32) client.Object {
	if sample := c.sample(); sample != nil {
		sample.createCompanions(ctx, s)
	}
	object := c.New(s.Namespace, name, size, defaultPort)
	if err := s.Client.Create(ctx, object); err != nil {
		s.Fatalf("expected the API server to create %s; last seen: %v", name, err)
	}
	return object
}

// change patches an object. It ends the test if that would change nothing.
func change(ctx context.Context, s *framework.Scope, object client.Object, edit func()) {
	before := object.DeepCopyObject().(client.Object)
	edit()
	if equality.Semantic.DeepEqual(before, object) {
		unchanged(s, object)
	}
	must(s, s.Client.Patch(ctx, object, client.MergeFrom(before)))
}

// resize changes the size of a custom resource.
func (c Checks) resize(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	change(ctx, s, object, func() { c.Resize(object, size) })
}

// unchanged ends the test because a change that it depends on is what the object is like already: whatever follows would prove nothing.
func unchanged(s *framework.Scope, object client.Object) {
	s.Skipf("the change for this check would leave %s as it is", object.GetName())
}

// patch merges into an object. It ends the test if that would change nothing.
func patch(ctx context.Context, s *framework.Scope, object client.Object, patch string) {
	current := object.DeepCopyObject().(client.Object)
	get(ctx, s, current)
	before, err := json.Marshal(current)
	must(s, err)
	after, err := jsonpatch.MergePatch(before, []byte(patch))
	must(s, err)
	if jsonpatch.Equal(before, after) {
		unchanged(s, object)
	}
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

// waitForSize waits until the Deployment has that many pods, all ready. Of a sample, it waits until all that belongs to it is ready.
func (c Checks) waitForSize(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	if sample := c.sample(); sample != nil {
		sample.waitForReady(ctx, s, object)
		return
	}
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
		if slices.ContainsFunc(conditions, match) != wanted {
			return false, fmt.Errorf("expected %s; last seen: %s", expected, framework.DescribeConditions(conditions))
		}
		return true, nil
	}))
}

// waitForAvailable waits until the custom resource is of that size and, if it has a condition for that, says so.
func (c Checks) waitForAvailable(ctx context.Context, s *framework.Scope, object client.Object, size int32) {
	c.waitForSize(ctx, s, object, size)
	if available := c.Describe().Conditions.Available; available != "" {
		waitForCondition(ctx, s, object, available, metav1.ConditionTrue, "")
	}
}

// created creates a custom resource, and waits until it is available.
func (c Checks) created(ctx context.Context, s *framework.Scope, prefix string, size int32) client.Object {
	object := c.create(ctx, s, prefix, size)
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

// remove deletes a custom resource, and waits until it and, unless it is a sample, its Deployment are gone.
func (c Checks) remove(ctx context.Context, s *framework.Scope, object client.Object, options ...client.DeleteOption) {
	must(s, s.Client.Delete(ctx, object, options...))
	framework.WaitForDeletion(ctx, s, object)
	if c.sample() == nil {
		framework.WaitForDeletion(ctx, s, c.deployment(object))
	}
}

// crash lets the pods of a custom resource's Deployment crash, again and again until restore. It skips the test where pods run.
func (c Checks) crash(ctx context.Context, s *framework.Scope, object client.Object) (restore func()) {
	s.NeedsSimulation("their kubelets say how a pod is")
	deployment := c.deployment(object)
	get(ctx, s, deployment)
	var pods corev1.PodList
	must(s, s.Client.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)))
	if len(pods.Items) == 0 {
		s.Fatalf("expected pods that can crash; last seen: none with the labels %v", deployment.Spec.Selector.MatchLabels)
	}
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
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("none")},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("0")}},
	}
	must(s, s.Client.Create(ctx, quota))
	framework.WaitForObject(ctx, s, quota, gomega.HaveField("Status.Hard", gomega.Not(gomega.BeEmpty())))
	return func() {
		must(s, s.Client.Delete(ctx, quota))
	}
}

// Canary is the name of the objects that [Checks.Barrier] creates. The names of their children contain it, too.
const Canary = "canary"

// canaries is how many canaries of a sample come and go at most until the operator writes nothing else meanwhile.
const canaries = 3

// Barrier returns when the operator has done everything that it had to do: a canary that is created now is available, the audit log
// contains the operator's writes about it, and the canary is gone.
//
// A sample has no condition that says when it is available, and that its children are ready does not mean that the operator knows it. The
// canary's status must therefore become like the final status of the first copy. The operator must also have written nothing else in the
// meantime, unless it never stops writing.
func (c Checks) Barrier(ctx context.Context, s *framework.Scope) {
	for range canaries {
		since, name := s.Mark(), Canary
		if c.sample() != nil {
			name = s.NewName(Canary) // what belongs to the last one may still be there
		}
		canary := c.createNamed(ctx, s, name, smallest)
		c.waitForAvailable(ctx, s, canary, smallest)
		framework.WaitForRequest(ctx, s, framework.RequestInput{
			What:   "a write about the canary",
			Writes: s.Writes(since, audit.About(name)),
			Match:  func(*auditv1.Event) bool { return true },
		})
		if sample := c.sample(); sample != nil {
			sample.waitForWork(ctx, s, canary)
		}
		c.remove(ctx, s, canary)
		if c.sample() == nil || len(framework.VerifyWrites(ctx, s, math.MaxInt, writes(s, since))) == 0 {
			return
		}
	}
}
