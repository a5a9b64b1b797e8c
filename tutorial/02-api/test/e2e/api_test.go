// Package e2e is the suite of this chapter: what the API server makes of the types, asserted on a real one.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/02-api/api/v1alpha1"
)

var stage = framework.New(framework.Options{
	Name:          "02-api",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme, apiextensionsv1.AddToScheme},
	CRDs:          []string{"../../config/crd/bases"},
	Kustomization: "../../config/crd",
	Record:        []schema.GroupVersionKind{cachev1alpha1.GroupVersion.WithKind("Memcached")},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

func TestEstablished(t *testing.T) {
	stage.Feature("the definition").
		Assess("is served", func(ctx context.Context, s *framework.Scope) {
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "memcacheds.cache.example.com"}}
			framework.WaitForObject(ctx, s, crd, HaveField("Status.Conditions", ContainElement(And(
				HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue),
			))))
			NewWithT(s).Expect(crd.Spec.Names.ShortNames).To(ConsistOf("mc"))
			version := crd.Spec.Versions[0]
			NewWithT(s).Expect(version.AdditionalPrinterColumns).To(ContainElements(HaveField("Name", "Size"), HaveField("Name", "Age")))
			status := version.Schema.OpenAPIV3Schema.Properties["status"].Properties
			NewWithT(s).Expect(status["conditions"].XListType).To(HaveValue(Equal("map")), "expected that conditions are merged by their type")
			NewWithT(s).Expect(status["nodes"].XListType).To(HaveValue(Equal("atomic")), "expected that nodes are replaced as a whole")
		}).
		Test(t)
}

// What the schema says: the sizes that it allows, and its defaults.
const (
	least, most = 1, 5
	defaultSize = 1
	defaultPort = 11211
)

// TestSpec writes Memcacheds as YAML, as a user does: the Go types could not say "size: many".
func TestSpec(t *testing.T) {
	stage.Feature("the spec").
		Assess("has defaults", func(ctx context.Context, s *framework.Scope) {
			// An empty spec, and none: the API server drops a null, as if it had been left out.
			for _, spec := range []string{"{}", "null"} {
				mc, err := create(ctx, s, spec)
				NewWithT(s).Expect(err).NotTo(HaveOccurred())
				NewWithT(s).Expect(mc.Spec).To(Equal(cachev1alpha1.MemcachedSpec{Size: new(int32(defaultSize)), ContainerPort: new(int32(defaultPort))}), "spec: %s", spec)
			}
		}).
		Assess("takes sizes from 1 to 5", func(ctx context.Context, s *framework.Scope) {
			for _, size := range []int{least, most} {
				_, err := create(ctx, s, fmt.Sprintf("size: %d", size))
				NewWithT(s).Expect(err).NotTo(HaveOccurred())
			}
		}).
		Assess("refuses others", func(ctx context.Context, s *framework.Scope) {
			for spec, why := range map[string]string{
				fmt.Sprintf("size: %d", least-1): fmt.Sprintf("spec.size in body should be greater than or equal to %d", least),
				fmt.Sprintf("size: %d", most+1):  fmt.Sprintf("spec.size in body should be less than or equal to %d", most),
				"size: many":                     "spec.size in body must be of type integer",
				"containerPort: 0":               "spec.containerPort in body should be greater than or equal to 1",
			} {
				_, err := create(ctx, s, spec)
				NewWithT(s).Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: expected it to be refused; last seen: %v", spec, err)
				NewWithT(s).Expect(err).To(MatchError(ContainSubstring(why)))
			}
		}).
		Test(t)
}

func TestStatusIsASubresource(t *testing.T) {
	stage.Feature("the status").
		Assess("is written on its own", func(ctx context.Context, s *framework.Scope) {
			g, size := NewWithT(s), s.Size(least, most)
			mc := &cachev1alpha1.Memcached{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("cache")},
				Spec:       cachev1alpha1.MemcachedSpec{Size: &size},
				Status:     cachev1alpha1.MemcachedStatus{Nodes: []string{"made-up"}},
			}
			g.Expect(s.Client.Create(ctx, mc)).To(Succeed())
			g.Expect(mc.Status.Nodes).To(BeEmpty(), "a user can't set the status")

			mc.Spec.Size = new(s.Size(least, most))
			mc.Status.Nodes = []string{"a-pod"}
			g.Expect(s.Client.Status().Update(ctx, mc)).To(Succeed())
			g.Expect(mc.Status.Nodes).To(ConsistOf("a-pod"))
			g.Expect(mc.Spec.Size).To(HaveValue(Equal(size)), "who writes the status does not change the spec")
			g.Expect(mc.Generation).To(BeEquivalentTo(1), "the generation counts changes of the spec")
		}).
		Test(t)
}

// create creates a Memcached whose spec is written in YAML, and returns it as the API server has completed it.
func create(ctx context.Context, s *framework.Scope, spec string) (*cachev1alpha1.Memcached, error) {
	s.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		s.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	object.SetNamespace(s.Namespace)
	object.SetName(s.NewName("cache"))
	if err := s.Client.Create(ctx, object); err != nil {
		return nil, err
	}
	mc := &cachev1alpha1.Memcached{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, mc); err != nil {
		return nil, fmt.Errorf("reading the Memcached with the spec %s: %w", spec, err)
	}
	return mc, nil
}
