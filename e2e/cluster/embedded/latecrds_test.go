package embedded_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestCascade deletes owners of kinds that came with the cluster's start, and of kinds that came later.
func TestCascade(t *testing.T) {
	tier.All(t)
	b := sharedBed(t)
	restarts := func() int { return b.process(t, embedded.KubeControllerManager).Restarts }
	before := restarts()
	b.expectCascade(t, "Owner")
	if got := restarts(); got != before {
		t.Errorf("expected no restart for CRDs that are there from the start, got %d", got-before)
	}

	const group = 3
	for i := range group {
		b.create(t, lateCRD(i))
	}
	for i := range group {
		framework.WaitForObject(t.Context(), b.scope(t), lateCRD(i), WithTransform(isEstablished, BeTrue()))
	}
	b.expectCascade(t, "Late0")
	b.expectCascade(t, "Late2")
	// As a rule one; a machine that is slow enough to let them come one by one may take one for each.
	if got := restarts() - before; got < 1 || got > group {
		t.Errorf("expected a restart for new CRDs, and not more than one for each of %d, got %d", group, got)
	}
	for i := range group { // leave the cluster to the next as it was
		if err := b.Delete(t.Context(), lateCRD(i)); err != nil {
			t.Error(err)
		}
		framework.WaitForDeletion(t.Context(), b.scope(t), lateCRD(i))
	}
}

func lateCRD(i int) *apiextensionsv1.CustomResourceDefinition {
	kind, singular := fmt.Sprintf("Late%d", i), fmt.Sprintf("late%d", i)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s.test.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "test.example.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

func isEstablished(object client.Object) bool {
	for _, c := range object.(*apiextensionsv1.CustomResourceDefinition).Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// custom is an object of a kind of these tests.
func custom(namespace, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("test.example.com/v1")
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// expectCascade deletes an object that owns a Deployment, and waits until all of it is gone, to the last pod.
func (b *bed) expectCascade(t *testing.T, kind string) {
	t.Helper()
	owner := custom(b.namespace(t), kind, "owner")
	b.create(t, owner)
	owned := deployment(owner.GetNamespace(), "owned", 1)
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
	b.create(t, owned)
	framework.WaitForDeployment(t.Context(), b.scope(t), client.ObjectKeyFromObject(owned), 1)
	if err := b.Delete(t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	framework.WaitForDeletion(t.Context(), b.scope(t), owner, owned)
	framework.WaitForNone(t.Context(), b.scope(t), &corev1.PodList{}, client.InNamespace(owner.GetNamespace()))
}
