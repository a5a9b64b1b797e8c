package conformance

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

// foreign is what the checks call what another program adds to an object: an annotation, a label, a finalizer.
const foreign = "example.com/foreign"

// foreignCondition is the type of a condition that another program adds.
const foreignCondition = "example.com/Foreign"

// OwnedShared checks that the operator leaves other programs' additions to the metadata of owned objects alone, even when it writes these
// objects. It restarts the operator.
func (c Checks) OwnedShared(ctx context.Context, s *framework.Scope) {
	_, children := c.createdWithOwned(ctx, s, "shared")
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	for i := range children {
		must(s, addForeign(ctx, s, &children[i]))
	}
	c.Barrier(ctx, s)
	c.verifyLeftAlone(ctx, s, children, func(child *unstructured.Unstructured) { verifyForeign(ctx, s, child) })
}

// verifyLeftAlone verifies owned objects after the operator had a reason to write them, and again after it was restarted: an operator that
// does not watch what it owns may write it only then.
func (c Checks) verifyLeftAlone(ctx context.Context, s *framework.Scope, children []unstructured.Unstructured, verify func(child *unstructured.Unstructured)) {
	s.Helper()
	verifyAll := func() {
		for i := range children {
			verify(&children[i])
		}
	}
	c.provoke(ctx, s, children)
	verifyAll()
	must(s, s.Operator.Restart(ctx))
	c.Barrier(ctx, s)
	verifyAll()
}

// ObjectShared checks that the operator leaves other programs' additions to the metadata of its custom resource alone, even while that is
// being deleted.
func (c Checks) ObjectShared(ctx context.Context, s *framework.Scope) {
	object, children := c.createdWithOwned(ctx, s, "held")
	if err := addForeign(ctx, s, object); err != nil {
		s.DoesNotApply(fmt.Sprintf("the API server refuses other labels, annotations or finalizers: %v", err))
	}
	c.Barrier(ctx, s)
	c.provoke(ctx, s, children)
	verifyForeign(ctx, s, object)
	must(s, s.Client.Delete(ctx, object))
	c.Barrier(ctx, s)
	verifyForeign(ctx, s, object)
}

// ConditionShared checks that the operator leaves a condition of a foreign type alone.
func (c Checks) ConditionShared(ctx context.Context, s *framework.Scope) {
	object, children := c.createdWithOwned(ctx, s, "conditions")
	since := s.Mark()
	c.addCondition(ctx, s, object)
	for i := range children {
		if children[i].GetGenerateName() == "" {
			must(s, client.IgnoreNotFound(s.Client.Delete(ctx, &children[i])))
		}
	}
	c.Barrier(ctx, s)
	c.provoke(ctx, s, children)
	get(ctx, s, object)
	conditions, err := framework.ConditionsOf(object)
	must(s, err)
	if meta.FindStatusCondition(conditions, foreignCondition) == nil {
		s.Fatalf("expected the condition %s of another program to stay; last seen: %s", foreignCondition, framework.DescribeConditions(conditions))
	}
	status := func(subresource string) []audit.Filter {
		return []audit.Filter{audit.Resource(resourceOf(s, object), subresource), audit.About(object.GetName())}
	}
	if len(written(ctx, s, since, status("status")...))+len(written(ctx, s, since, status("")...)) == 0 {
		s.DoesNotApply("nothing that was tried made the operator write its status")
	}
}

// addCondition adds a condition to an object's status, as another program does. It is a copy of one that is there, except for its type, so
// that it has the fields that the API asks for.
func (c Checks) addCondition(ctx context.Context, s *framework.Scope, object client.Object) {
	get(ctx, s, object)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	must(s, err)
	conditions, _, err := unstructured.NestedSlice(content, "status", "conditions")
	if err != nil || len(conditions) == 0 {
		s.DoesNotApply("its status has no conditions")
	}
	condition, isObject := conditions[0].(map[string]any)
	if !isObject {
		s.DoesNotApply("its status has no conditions")
	}
	condition["type"] = foreignCondition
	text := jsonPatch(s, operation{"add", "/status/conditions/-", condition})
	err = s.Client.Status().Patch(ctx, object, text)
	if apierrors.IsNotFound(err) { // the status is not a subresource
		err = s.Client.Patch(ctx, object, text)
	}
	if err != nil {
		s.DoesNotApply(fmt.Sprintf("the API server refuses a condition of another type: %v", err))
	}
}

// provoke has the operator look at owned objects, and write them if it puts back what others change. The objects are as they were before
// other programs added anything.
func (c Checks) provoke(ctx context.Context, s *framework.Scope, children []unstructured.Unstructured) {
	for i := range children {
		// The operator may be changing the object, or replacing it.
		if _, damages := damagesOf(ctx, s, &children[i]); len(damages) > 0 {
			_, _ = patched(ctx, s, &children[i], damages)
		}
	}
	c.Barrier(ctx, s)
}

// addForeign adds an annotation, a label and a finalizer to an object, as another program does. The finalizer is removed when the test is
// done. The object itself stays as it was read.
func addForeign(ctx context.Context, s *framework.Scope, object client.Object) error {
	s.Cleanup(func() {
		err := edit(context.WithoutCancel(ctx), s, object, func(now client.Object) { controllerutil.RemoveFinalizer(now, foreign) })
		if client.IgnoreNotFound(err) != nil {
			s.Errorf("removing the finalizer %s: %v", foreign, err)
		}
	})
	return edit(ctx, s, object, func(now client.Object) {
		now.SetAnnotations(withForeign(now.GetAnnotations()))
		now.SetLabels(withForeign(now.GetLabels()))
		controllerutil.AddFinalizer(now, foreign)
	})
}

func withForeign(values map[string]string) map[string]string {
	if values == nil {
		values = map[string]string{}
	}
	values[foreign] = "yes"
	return values
}

// isHeld reports whether a check keeps an object that is to be deleted, so that it can't become ready.
func isHeld(object unstructured.Unstructured) bool {
	return object.GetDeletionTimestamp() != nil && controllerutil.ContainsFinalizer(&object, foreign)
}

// whileOthersWrite repeats a change of an object as long as it conflicts with those of others. On a busy machine, the status of a workload
// whose pods come and go changes between a read and a write several times in a row.
func whileOthersWrite(ctx context.Context, s *framework.Scope, object client.Object, change func(context.Context) error) (err error) {
	framework.WaitFor(ctx, s, "a change of "+object.GetName(), func(ctx context.Context) error {
		if err = change(ctx); apierrors.IsConflict(err) {
			return err
		}
		return nil
	})
	return err
}

// edit changes an object as it is now. The object itself stays as it was read.
func edit(ctx context.Context, s *framework.Scope, object client.Object, change func(now client.Object)) error {
	return whileOthersWrite(ctx, s, object, func(ctx context.Context) error {
		now := object.DeepCopyObject().(client.Object)
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
			return err
		}
		before := now.DeepCopyObject().(client.Object)
		change(now)
		return s.Client.Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}

// verifyForeign checks that an object has all that addForeign has added.
func verifyForeign(ctx context.Context, s *framework.Scope, object client.Object) {
	now := object.DeepCopyObject().(client.Object)
	err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), now)
	subject := object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
	if apierrors.IsNotFound(err) || err == nil && now.GetUID() != object.GetUID() {
		s.Fatalf("%s: expected the finalizer %s of another program to keep it; last seen: it is gone", subject, foreign)
	}
	must(s, err)
	var lost []string
	if now.GetAnnotations()[foreign] != "yes" {
		lost = append(lost, "annotation")
	}
	if now.GetLabels()[foreign] != "yes" {
		lost = append(lost, "label")
	}
	if !controllerutil.ContainsFinalizer(now, foreign) {
		lost = append(lost, "finalizer")
	}
	if len(lost) > 0 {
		s.Fatalf("%s: expected the %s %s of another program to stay; last seen: it is gone", subject, strings.Join(lost, " and the "), foreign)
	}
}

// resourceOf returns the plural of an object's kind, as URLs have it.
func resourceOf(s *framework.Scope, object client.Object) string {
	return mappingOf(s, object).Resource.Resource
}

func mappingOf(s *framework.Scope, object client.Object) *meta.RESTMapping {
	gvk, err := s.Client.GroupVersionKindFor(object)
	must(s, err)
	mapping, err := s.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	must(s, err)
	return mapping
}
