package conformance

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// checkServed returns an error if a cluster with the objects would not serve the sample's kind: neither Kubernetes nor one of their
// CustomResourceDefinitions defines it.
func (o *Sample) checkServed(objects []*unstructured.Unstructured) error {
	kind := o.GVK()
	if clientgoscheme.Scheme.Recognizes(kind) {
		return nil
	}
	var defined []string
	for _, object := range objects {
		if object.GetKind() != definition {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
		for _, version := range versions {
			content, _ := version.(map[string]any)
			if served, _, _ := unstructured.NestedBool(content, "served"); !served {
				continue
			}
			version, _, _ := unstructured.NestedString(content, "name")
			gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: name}
			if gvk == kind {
				return nil
			}
			defined = append(defined, describe(gvk))
		}
	}
	slices.Sort(defined)
	const advice = "add the file with its CustomResourceDefinition to the manifests, or name it with crds or --crds"
	if len(defined) == 0 {
		return fmt.Errorf("the kind of the sample %s is %s, but the manifests have no CustomResourceDefinition: %s", o.file, describe(kind), advice)
	}
	return fmt.Errorf("the kind of the sample %s is %s, but the manifests only define %s: %s", o.file, describe(kind), strings.Join(defined, ", "), advice)
}

// describe names a kind as people say it.
func describe(kind schema.GroupVersionKind) string {
	return fmt.Sprintf("%s of %s", kind.Kind, kind.GroupVersion())
}
