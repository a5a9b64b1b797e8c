package embedded_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestRenew makes a mess of a cluster with CustomResourceDefinitions of all kinds, and renews it with others: it must be as one that was
// created with those.
func TestRenew(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	b := ownBed(t, "renew", embedded.WithCRDs("testdata/crds"))
	baseline := withoutKinds(b.stored(t))
	late := writeCRD(t, lateCRD(7))

	for _, c := range []struct {
		crds   []string
		serves []string
		kind   string
		broken string
	}{
		{crds: []string{late}, serves: []string{"late7s"}, kind: "Late7"},
		{crds: []string{"testdata/crds", late}, serves: []string{"late7s", "owners"}, kind: "Owner", broken: embedded.KubeControllerManager},
		{crds: nil},
		{crds: []string{"testdata/crds"}, serves: []string{"owners"}, kind: "Owner", broken: embedded.KubeAPIServer},
	} {
		if slices.Contains(b.served(t), "owners") {
			b.changeSchema(t, "owners.test.example.com")
			b.create(t, lateCRD(8))
			framework.WaitForObject(t.Context(), b.scope(t), lateCRD(8), WithTransform(isEstablished, BeTrue()))
			b.mess(t)
		}
		if c.broken != "" {
			if err := b.cluster.Supervisor().Stop(t.Context(), c.broken); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.cluster.Renew(t.Context(), c.crds...); err != nil {
			t.Fatal(err)
		}
		if got := b.served(t); !slices.Equal(got, c.serves) {
			t.Errorf("expected the API server to serve %q of the CustomResourceDefinitions, got %q", c.serves, got)
		}
		expectSame(t, withoutKinds(b.stored(t)), baseline)
		if c.kind == "" {
			continue
		}
		// The garbage collector knows the kinds, and no second start of it is needed for that.
		starts := b.process(t, embedded.KubeControllerManager).Started
		b.expectCascade(t, c.kind)
		if got := b.process(t, embedded.KubeControllerManager).Started; !got.Equal(starts) {
			t.Errorf("expected no further restart of %s, it was started at %v and at %v", embedded.KubeControllerManager, starts, got)
		}
	}
	framework.WaitForObject(t.Context(), b.scope(t), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "owners.test.example.com"}},
		WithTransform(description, BeEmpty()))

	if err := b.cluster.Renew(t.Context(), "testdata/none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("expected an error for a file that does not exist, got %v", err)
	}
	if err := embedded.NewProvider().Renew(t.Context()); !errors.As(err, new(*embedded.NotUpError)) {
		t.Errorf("expected a *NotUpError, got %v", err)
	}
}

// changeSchema gives the schema of a CustomResourceDefinition a description.
func (b *bed) changeSchema(t *testing.T, name string) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.Get(t.Context(), client.ObjectKey{Name: name}, crd); err != nil {
		t.Fatal(err)
	}
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "changed"
	if err := b.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
}

func description(object client.Object) string {
	return object.(*apiextensionsv1.CustomResourceDefinition).Spec.Versions[0].Schema.OpenAPIV3Schema.Description
}

// writeCRD writes a CustomResourceDefinition to a file.
func writeCRD(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
	content, err := yaml.Marshal(crd)
	path := filepath.Join(t.TempDir(), "crd.yaml")
	if err := errors.Join(err, os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// served are the resources of the tests' group that discovery lists, sorted.
func (b *bed) served(t *testing.T) []string {
	t.Helper()
	resources, err := discovery.NewDiscoveryClientForConfig(b.cluster.KubernetesRestConfig())
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := resources.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, list := range lists {
		if strings.HasPrefix(list.GroupVersion, "test.example.com/") {
			for _, r := range list.APIResources {
				if !strings.Contains(r.Name, "/") { // a subresource
					names = append(names, r.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// withoutKinds removes what a cluster holds because of its CustomResourceDefinitions.
func withoutKinds(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(key, _ string) bool {
		return strings.HasPrefix(key, "/registry/apiextensions.k8s.io/") || strings.HasSuffix(key, ".test.example.com") || renewed(key)
	})
	return all
}

// expectSame checks what a cluster holds.
func expectSame(t *testing.T, got, want map[string]string) {
	t.Helper()
	for key := range got {
		if want[key] != got[key] {
			t.Errorf("expected %s to be gone, or as it was", key)
		}
	}
	for key := range want {
		if _, found := got[key]; !found {
			t.Errorf("expected %s to be there again", key)
		}
	}
}
