package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

const (
	// intOrString is what misfits calls the schema of a number or a string.
	intOrString = "int-or-string"
	// statusPointer begins JSON pointers to fields of the status.
	statusPointer = "/status/"
)

// misfits are values that the API server accepts for a format, and that the Go type for this format can't be decoded from.
var misfits = map[string]any{
	"date-time": "2024-01-01t00:00:00z", // RFC 3339 allows small letters, but Go reads only capital ones
	"duration":  "1 day",                // Go's largest unit is the hour
	intOrString: int64(math.MaxInt32 + 1),
}

// Undecodable checks that the operator serves other objects while there is one that its CustomResourceDefinition allows and that most
// clients can't decode, also after a restart, and after that object is deleted. It restarts the operator.
func (c Checks) Undecodable(ctx context.Context, s *framework.Scope) {
	created, _ := c.createdWithOwned(ctx, s, "undecodable")
	object := created.(*unstructured.Unstructured)
	get(ctx, s, object)
	misfit := acceptedMisfits(ctx, s, object, misfitsOf(schemaOf(ctx, s, object), object.Object, ""))
	if len(misfit) == 0 {
		s.DoesNotApply("the API server accepts no value for its fields that is known to be undecodable")
	}
	s.RestartAfterwards(ctx)
	s.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		// An operator that can't decode the object removes no finalizer, and its webhooks may refuse any other change.
		_, err := setFields(ctx, s, s.Client, object, undo(object, misfit))
		if err := errors.Join(client.IgnoreNotFound(err), client.IgnoreNotFound(s.Client.Delete(ctx, object))); err != nil {
			s.Errorf("repair and delete the object that can't be decoded: %v", err)
		}
	})
	_, err := setFields(ctx, s, s.Client, object, misfit)
	must(s, err)
	what := fmt.Sprintf("%s, which has %v at %s", object.GetName(), misfit[0].Value, misfit[0].Path)
	c.waitForServed(ctx, s, "while there is "+what)
	if err := s.Operator.Restart(ctx); err != nil {
		s.Fatalf("expected the operator to start while there is %s; last seen: %v", what, err)
	}
	c.waitForServed(ctx, s, "after a restart while there is "+what)
	now := object.DeepCopy()
	get(ctx, s, now)
	if valueAt(now, misfit[0].Path) != misfit[0].Value {
		s.Remark("the operator has replaced the value that can't be decoded")
	} else if len(now.GetFinalizers()) > 0 {
		_, err := setFields(ctx, s, s.Client, object, undo(object, misfit))
		must(s, err)
	}
	c.remove(ctx, s, object)
	c.waitForServed(ctx, s, "after the deletion of "+what)
}

// schemaOf returns the schema of an object in the CustomResourceDefinition of its kind. The point does not apply to a kind without one.
func schemaOf(ctx context.Context, s *framework.Scope, object *unstructured.Unstructured) map[string]any {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: definition})
	resource := mappingOf(s, object).Resource
	err := s.Client.Get(ctx, client.ObjectKey{Name: resource.GroupResource().String()}, crd)
	if apierrors.IsNotFound(err) {
		s.DoesNotApply("no CustomResourceDefinition defines the sample's kind")
	}
	must(s, err)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	must(s, err)
	for _, version := range versions {
		if version, ok := version.(map[string]any); ok && version["name"] == resource.Version {
			found, _, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			must(s, err)
			return found
		}
	}
	return nil
}

// misfitsOf returns operations that set fields of an object, or of a part of it at the JSON pointer, to misfits. It looks only at the fields
// of what is there, because what is missing may have required fields.
func misfitsOf(schema map[string]any, content any, pointer string) (operations []operation) {
	switch content := content.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			property, _ := properties[name].(map[string]any)
			operations = append(operations, misfitsOf(property, content[name], pointer+"/"+jsonpointer.Escape(name))...)
		}
	case []any:
		if items, ok := schema["items"].(map[string]any); ok && len(content) > 0 {
			operations = misfitsOf(items, content[0], pointer+"/0")
		}
	default:
		format, _ := schema["format"].(string)
		if schema["x-kubernetes-int-or-string"] == true && schema["pattern"] == nil { // a quantity has a pattern
			format = intOrString
		}
		if value := misfits[format]; value != nil {
			operations = []operation{{"add", pointer, value}}
		}
	}
	return operations
}

// acceptedMisfits returns as many of the operations as the API server accepts at once: in the status or, if it accepts none there, elsewhere.
// Values in the status can't make an operator act that is able to decode them.
func acceptedMisfits(ctx context.Context, s *framework.Scope, object *unstructured.Unstructured, all []operation) (accepted []operation) {
	dryRun := client.NewDryRunClient(s.Client)
	for _, inStatus := range []bool{true, false} {
		for _, o := range all {
			if strings.HasPrefix(o.Path, statusPointer) != inStatus {
				continue
			}
			more := append(slices.Clone(accepted), o)
			if after, err := setFields(ctx, s, dryRun, object, more); err == nil && valueAt(after, o.Path) == o.Value {
				accepted = more
			}
		}
		if len(accepted) > 0 {
			break
		}
	}
	return accepted
}

// setFields does operations of [acceptedMisfits] to an object, and returns what comes of it. The object itself stays as it was read.
func setFields(ctx context.Context, s *framework.Scope, writer client.Client, object *unstructured.Unstructured, operations []operation) (*unstructured.Unstructured, error) {
	after, patch := object.DeepCopy(), jsonPatch(s, operations...)
	if strings.HasPrefix(operations[0].Path, statusPointer) {
		if err := writer.Status().Patch(ctx, after, patch); !apierrors.IsNotFound(err) { // which means that the status is not a subresource
			return after, err
		}
	}
	return after, writer.Patch(ctx, after, patch)
}

// undo returns operations that set the fields back to what an object has.
func undo(object *unstructured.Unstructured, operations []operation) (back []operation) {
	for _, o := range operations {
		if was := valueAt(object, o.Path); was != nil {
			back = append(back, operation{"replace", o.Path, was})
		} else {
			back = append(back, operation{Op: "remove", Path: o.Path})
		}
	}
	return back
}

// waitForServed creates another copy of the sample, and waits until the operator serves it.
func (c Checks) waitForServed(ctx context.Context, s *framework.Scope, when string) {
	s.Helper()
	object := c.create(ctx, s, "other", smallest)
	framework.WaitFor(ctx, s, object.GetName(), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		belongings, err := belonging(ctx, s, object, c.sample().kinds)
		if err == nil && !isServed(object, belongings) {
			err = fmt.Errorf("expected it to be served %s; last seen: it is not", when)
		}
		return err
	})
	c.sample().waitForReady(ctx, s, object)
}
