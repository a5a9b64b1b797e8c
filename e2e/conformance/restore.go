package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// DeletionUnattended checks that a deletion while the operator is stopped leaves nothing once it runs again. It stops the operator.
func (c Checks) DeletionUnattended(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "unattended", smallest)
	must(s, s.Operator.Stop(ctx))
	err := s.Client.Delete(ctx, object)
	must(s, s.Operator.Restart(ctx))
	if err != nil {
		s.DoesNotApply(fmt.Sprintf("without the operator, the API server deletes no such object: %v", err))
	}
	framework.WaitForDeletion(ctx, s, object)
	waitForNothing(ctx, s, object)
}

// Orphaned checks that the children of an object stay if it is deleted with the policy Orphan, and that a new object of the same name
// adopts them, or reports that it does not.
func (c Checks) Orphaned(ctx context.Context, s *framework.Scope) {
	object, children := c.createdWithOwned(ctx, s, "orphaned")
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	get(ctx, s, object)
	usual := textsOf(object)
	s.Cleanup(func() { // of what has no namespace that is deleted
		for i := range children {
			_ = s.Client.Delete(context.WithoutCancel(ctx), &children[i])
		}
	})
	must(s, s.Client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	framework.WaitForDeletion(ctx, s, object)
	c.Barrier(ctx, s)
	for i := range children {
		now := children[i].DeepCopy()
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(now), now)
		if apierrors.IsNotFound(err) || err == nil && (now.GetUID() != children[i].GetUID() || now.GetDeletionTimestamp() != nil) {
			s.Fatalf("%s %s: expected it to stay, because the deletion of its owner asked for that; last seen: it is deleted", now.GetKind(), now.GetName())
		}
		must(s, err)
	}
	again := c.createNamed(ctx, s, object.GetName(), smallest)
	named := withOwnNames(children)
	framework.WaitFor(ctx, s.Patient(reportTime), again.GetName(), func(ctx context.Context) error {
		err := ownedBy(ctx, s, named, again)
		if err == nil {
			return nil
		}
		report, reportErr := reportOf(ctx, s, again, usual)
		if reportErr != nil || report != "" {
			return reportErr
		}
		return fmt.Errorf("%w, and its status reports nothing about that", err)
	})
}

// withOwnNames returns the objects whose names the API server has not generated: a new owner gets others by the same names.
func withOwnNames(objects []unstructured.Unstructured) []unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(object unstructured.Unstructured) bool { return object.GetGenerateName() != "" })
}

// ownedBy returns an error if an object of one of the names does not belong to the owner.
func ownedBy(ctx context.Context, s *framework.Scope, objects []unstructured.Unstructured, owner client.Object) error {
	for i := range objects {
		now := objects[i].DeepCopy()
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(now), now); err != nil {
			return err
		}
		if !slices.ContainsFunc(now.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
			return fmt.Errorf("expected %s %s to belong to the new %s of the same name; last seen: it does not",
				now.GetKind(), now.GetName(), owner.GetObjectKind().GroupVersionKind().Kind)
		}
	}
	return nil
}

// RestoredLast checks that an object takes over its former children if a backup restores the object last.
func (c Checks) RestoredLast(ctx context.Context, s *framework.Scope) {
	object, saved := c.backup(ctx, s)
	for i := range saved {
		must(s, restore(ctx, s, saved[i]))
	}
	c.Barrier(ctx, s) // the operator has seen them without their owner
	c.restored(ctx, s, object, saved)
}

// RestoredFirst checks that an object gets all its children if a backup restores the object first.
func (c Checks) RestoredFirst(ctx context.Context, s *framework.Scope) {
	object, saved := c.backup(ctx, s)
	again := c.createNamed(ctx, s, object.GetName(), smallest)
	c.sample().waitForReady(ctx, s, again)
	for i := range saved {
		if err := restore(ctx, s, saved[i]); !apierrors.IsAlreadyExists(err) {
			must(s, err)
		}
	}
	c.Barrier(ctx, s)
	waitForOwned(ctx, s, saved, again)
	c.sample().waitForReady(ctx, s, again)
}

// restored creates an object again, and waits until it owns what was saved.
func (c Checks) restored(ctx context.Context, s *framework.Scope, object client.Object, saved []unstructured.Unstructured) {
	again := c.createNamed(ctx, s, object.GetName(), smallest)
	waitForOwned(ctx, s, saved, again)
	c.sample().waitForReady(ctx, s, again)
}

func waitForOwned(ctx context.Context, s *framework.Scope, objects []unstructured.Unstructured, owner client.Object) {
	framework.WaitFor(ctx, s, "a restore of "+owner.GetName(), func(ctx context.Context) error { return ownedBy(ctx, s, objects, owner) })
}

// backup creates an object, and deletes it again. It returns what the object owned, as far as it can be created without more than a backup tool
// knows.
func (c Checks) backup(ctx context.Context, s *framework.Scope) (object client.Object, saved []unstructured.Unstructured) {
	object, children := c.createdWithOwned(ctx, s, "restored")
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	s.Cleanup(func() { // of what has no namespace that is deleted
		for i := range saved {
			_ = s.Client.Delete(context.WithoutCancel(ctx), saved[i].DeepCopy())
		}
	})
	c.removeAll(ctx, s, object)
	for _, child := range withOwnNames(children) {
		if s.Client.Create(ctx, withoutServerFields(child), client.DryRunAll) == nil {
			saved = append(saved, child)
		}
	}
	if len(saved) == 0 {
		s.DoesNotApply("nothing that the sample owns can be created from a backup")
	}
	return object, saved
}

// backupTool is the field manager of what restores a backup.
const backupTool = client.FieldOwner("backup-tool")

// restore creates a saved object again, as backup tools do: without its owner, and with the managed fields that it had, in a second
// request because the API server sets others when it creates the object.
func restore(ctx context.Context, s *framework.Scope, saved unstructured.Unstructured) error {
	restored := withoutServerFields(saved)
	if err := s.Client.Create(ctx, restored, backupTool); err != nil {
		return err
	}
	fields, err := json.Marshal(saved.GetManagedFields())
	return errors.Join(err, s.Client.Patch(ctx, restored, mergePatch(`{"metadata":{"managedFields":%s}}`, fields), backupTool))
}

// withoutServerFields returns what a backup tool creates again of an object: not what the API server sets, nor its owners, nor its status.
func withoutServerFields(saved unstructured.Unstructured) *unstructured.Unstructured {
	object := saved.DeepCopy()
	delete(object.Object, "status")
	object.Object["metadata"] = map[string]any{}
	object.SetNamespace(saved.GetNamespace())
	object.SetName(saved.GetName())
	object.SetLabels(saved.GetLabels())
	object.SetAnnotations(saved.GetAnnotations())
	for _, field := range assigned[saved.GetKind()] {
		if value := valueAt(object, "/"+strings.Join(field, "/")); value != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(object.Object, field...)
		}
	}
	return object
}

// assigned are the fields, by kind, that the cluster assigns to an object, and that another one can't have.
var assigned = map[string][][]string{
	"Service":               {{"spec", "clusterIPs"}, {"spec", "clusterIP"}, {"spec", "healthCheckNodePort"}},
	"PersistentVolumeClaim": {{"spec", "volumeName"}},
	"Pod":                   {{"spec", "nodeName"}},
}
