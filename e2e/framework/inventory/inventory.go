// Package inventory lists the custom resources on a cluster whose kinds the manifests define, and the operators that serve them. This
// shows what users would lose if the CustomResourceDefinitions were deleted, and what a suite would disturb.
package inventory

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// definition is the kind of a CRD.
const definition = "CustomResourceDefinition"

// Resource is a custom resource that a cluster serves.
type Resource struct {
	// Definition is the name of its CustomResourceDefinition, and Kind the kind that this defines.
	Definition, Kind string
	// Objects are its objects in all namespaces.
	Objects []metav1.PartialObjectMetadata
}

// Resources returns the custom resources that the manifests define, with all their objects, if the cluster has their
// CustomResourceDefinitions. It reads only metadata, so objects that can't be decoded count, too.
func Resources(ctx context.Context, config *rest.Config, m manifest.Set) ([]Resource, error) {
	crds, err := watch.NewClient(config)
	if err != nil {
		return nil, err
	}
	var resources []Resource
	for _, d := range m.Select(definition) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := crds.Get(ctx, client.ObjectKeyFromObject(d), crd); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("looking for %s %s: %w", definition, d.GetName(), err)
		}
		resource := Resource{Definition: crd.Name, Kind: crd.Spec.Names.Kind}
		if resource.Objects, err = install.ObjectsOf(ctx, config, crd); err != nil {
			return nil, fmt.Errorf("listing all %s: %w", crd.Spec.Names.Plural, err)
		}
		resources = append(resources, resource)
	}
	return resources, nil
}

// String returns the number of objects: "3 Memcacheds in 2 namespaces".
func (r Resource) String() string {
	namespaces := map[string]bool{}
	for _, object := range r.Objects {
		if object.Namespace != "" {
			namespaces[object.Namespace] = true
		}
	}
	text := count(len(r.Objects), r.Kind)
	if len(namespaces) > 0 {
		text += " in " + count(len(namespaces), "namespace")
	}
	return text
}

// Annotated returns the keys of the objects that have the annotation with that value.
func (r Resource) Annotated(annotation, value string) []client.ObjectKey {
	var keys []client.ObjectKey
	for _, object := range r.Objects {
		if object.Annotations[annotation] == value {
			keys = append(keys, client.ObjectKeyFromObject(&object))
		}
	}
	return keys
}

// First returns the number of keys, and the first of them: "5: a/b, a/c, d/e and 2 more".
func First(keys []client.ObjectKey) string {
	const most = 3
	var names []string
	for _, key := range keys[:min(most, len(keys))] {
		names = append(names, strings.TrimPrefix(key.String(), "/"))
	}
	return fmt.Sprintf("%d: %s%s", len(keys), strings.Join(names, ", "), more(len(keys)-len(names)))
}

// count returns a number of things, such as "1 Memcached" or "2 Memcacheds".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
