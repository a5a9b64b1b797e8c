package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// definition is the kind of a CRD.
const definition = "CustomResourceDefinition"

// WriteDefinitions writes the CustomResourceDefinitions to a folder, which it makes if need be: a cluster that has them from
// its start needs not learn of them late.
func (m Manifests) WriteDefinitions(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, d := range m.Select(definition) {
		content, err := yaml.Marshal(d)
		if err != nil {
			return fmt.Errorf("writing the CustomResourceDefinition %s: %w", d.GetName(), err)
		}
		if err := os.WriteFile(filepath.Join(folder, d.GetName()+".yaml"), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Define applies the CustomResourceDefinitions of the manifests and returns when the API server serves all of them, as they are
// now where they were there before.
func Define(ctx context.Context, config *rest.Config, m Manifests) error {
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	changed, err := stale(ctx, c, m.Select(definition))
	if err != nil {
		return err
	}
	if err := replaceServed(ctx, config, c, changed); err != nil {
		return err
	}
	return define(ctx, config, c, m.Select(definition))
}

// defineMissing is Define for those that are not there. Any that is just becoming Established is waited for.
func defineMissing(ctx context.Context, config *rest.Config, m Manifests) error {
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	present := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(ctx, present); err != nil {
		return fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	missing := slices.DeleteFunc(m.Select(definition), func(wanted *unstructured.Unstructured) bool {
		return slices.ContainsFunc(present.Items, func(d apiextensionsv1.CustomResourceDefinition) bool {
			return d.Name == wanted.GetName() && apihelpers.IsCRDConditionTrue(&d, apiextensionsv1.Established)
		})
	})
	return define(ctx, config, c, missing)
}

func define(ctx context.Context, config *rest.Config, c client.WithWatch, definitions []*unstructured.Unstructured) error {
	if err := Apply(ctx, c, definitions); err != nil {
		return err
	}
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	for _, d := range definitions {
		present, err := watch.Established(ctx, c, d.GetName())
		if err == nil {
			err = untilDiscovered(ctx, resources, present)
		}
		if err != nil {
			return fmt.Errorf("waiting until the API server serves %s: %w", d.GetName(), err)
		}
	}
	return nil
}

// untilDiscovered asks until discovery lists what is served, which is a moment later than it is Established: clients learn from
// it where objects of the kind are.
func untilDiscovered(ctx context.Context, resources discovery.DiscoveryInterface, d *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range d.Spec.Versions {
		if !version.Served {
			continue
		}
		listed := false
		for range watch.Poll(ctx, askAgain) {
			list, err := resources.ServerResourcesForGroupVersion(d.Spec.Group + "/" + version.Name)
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			listed = err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == d.Spec.Names.Plural })
			if listed {
				break
			}
		}
		if !listed {
			return context.Cause(ctx)
		}
	}
	return nil
}
