package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-openapi/jsonpointer"
	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// drift checks that a change of the Deployment is undone, which shows at the JSON pointer. The operation that makes the change depends on
// what is there.
func (c Checks) drift(ctx context.Context, s *framework.Scope, prefix, pointer string, change func(was any) operation) {
	deployment := c.deployment(c.created(ctx, s, prefix, c.several(s)))
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	before.SetNamespace(deployment.Namespace)
	before.SetName(deployment.Name)
	get(ctx, s, before)
	after, err := patched(ctx, s, before, []operation{change(valueAt(before, pointer))})
	must(s, err)
	if valueAt(after, pointer) == valueAt(before, pointer) {
		unchanged(s, before)
	}
	waitForPutBack(ctx, s, before, pointer)
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patched does the operations to an object, and returns what comes of it. The object itself stays as it was read.
func patched(ctx context.Context, s *framework.Scope, object *unstructured.Unstructured, operations []operation, options ...client.PatchOption) (*unstructured.Unstructured, error) {
	after := object.DeepCopy()
	return after, s.Client.Patch(ctx, after, jsonPatch(s, operations...), options...)
}

// jsonPatch returns the operations as a patch.
func jsonPatch(s *framework.Scope, operations ...operation) client.Patch {
	content, err := json.Marshal(operations)
	must(s, err)
	return client.RawPatch(types.JSONPatchType, content)
}

// valueAt returns what an object has at the JSON pointer, or nil.
func valueAt(object *unstructured.Unstructured, pointer string) any {
	p, _ := jsonpointer.New(pointer)
	value, _, _ := p.Get(object.Object) // nil with an error
	return value
}

// waitForPutBack waits until an object has at the JSON pointers what it had before.
func waitForPutBack(ctx context.Context, s *framework.Scope, before *unstructured.Unstructured, pointers ...string) {
	framework.WaitForObject(ctx, s, before.DeepCopy(), gcustom.MakeMatcher(func(now *unstructured.Unstructured) (bool, error) {
		for _, pointer := range pointers {
			if was, is := valueAt(before, pointer), valueAt(now, pointer); was != is {
				return false, fmt.Errorf("expected %v at %s to be put back; last seen: %v", was, pointer, cmp.Or(is, any("nothing")))
			}
		}
		return true, nil
	}))
}

// Replicas checks that a changed number of replicas is put back.
func (c Checks) Replicas(ctx context.Context, s *framework.Scope) {
	const replicas = "/spec/replicas"
	c.drift(ctx, s, "replicas", replicas, func(was any) operation {
		return operation{"replace", replicas, was.(int64) + 1} // the API server sets it where nobody has
	})
}

// container is the first one of a Deployment.
const container = "/spec/template/spec/containers/0"

// Image checks that a changed image is put back.
func (c Checks) Image(ctx context.Context, s *framework.Scope) {
	const image = container + "/image"
	c.drift(ctx, s, "image", image, func(any) operation {
		return operation{"replace", image, "example.com/" + s.NewName("other") + ":1"}
	})
}

// SecurityContext checks that a changed security context is put back.
func (c Checks) SecurityContext(ctx context.Context, s *framework.Scope) {
	const securityContext, escalation = container + "/securityContext", "allowPrivilegeEscalation"
	c.drift(ctx, s, "security", securityContext+"/"+escalation, func(was any) operation {
		return operation{"add", securityContext, map[string]bool{escalation: was != true}}
	})
}

// Owner checks that a removed owner reference is put back.
func (c Checks) Owner(ctx context.Context, s *framework.Scope) {
	const owners = "/metadata/ownerReferences"
	c.drift(ctx, s, "owned", owners+"/0/uid", func(was any) operation {
		if was == nil {
			s.Fatal("expected the Deployment to have an owner reference; last seen: none")
		}
		// Until another object is served, late events about the pods of this one would also make an operator look that does not watch it.
		c.created(ctx, s, "later", smallest)
		return operation{Op: "remove", Path: owners}
	})
}

// DeletedDeployment checks that a Deployment that is deleted comes back.
func (c Checks) DeletedDeployment(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "deleted", smallest)
	deployment := c.deployment(object)
	get(ctx, s, deployment)
	deleteAndWait(ctx, s, deployment)
	c.waitForSize(ctx, s, object, smallest)
}

// deleteAndWait deletes an object, and waits until it comes back.
func deleteAndWait(ctx context.Context, s *framework.Scope, object client.Object) {
	deleted := object.GetUID()
	must(s, s.Client.Delete(ctx, object))
	framework.WaitForObject(ctx, s, object, gcustom.MakeMatcher(func(seen client.Object) (bool, error) {
		if seen.GetUID() == deleted {
			return false, errors.New("expected another one; last seen: the deleted one")
		}
		return true, nil
	}))
}

// ForeignFields checks that the operator leaves fields alone that another client has set.
func (c Checks) ForeignFields(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "shared", smallest)
	deployment := c.deployment(object)
	const mine = "example.com/mine"
	patch(ctx, s, deployment, `{"metadata":{"annotations":{"`+mine+`":"yes"},"labels":{"`+mine+`":"yes"}},
		"spec":{"template":{"metadata":{"annotations":{"`+mine+`":"yes"}}}}}`)
	size := c.several(s)
	c.resize(ctx, s, object, size)
	c.waitForSize(ctx, s, object, size)
	c.Barrier(ctx, s)
	get(ctx, s, deployment)
	for place, values := range map[string]map[string]string{
		"the annotations": deployment.Annotations, "the labels": deployment.Labels, "the annotations of the pods": deployment.Spec.Template.Annotations,
	} {
		if values[mine] != "yes" {
			s.Errorf("expected somebody's %s to survive in %s; last seen: %v", mine, place, values)
		}
	}
}

// mergePatch returns a merge patch.
func mergePatch(format string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
}
