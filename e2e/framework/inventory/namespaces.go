package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// Namespace is a namespace of a cluster with objects that would be deleted with it.
type Namespace struct {
	// Name is the name of the namespace.
	Name string
	// Others names its objects that are not the operator's, such as "ConfigMap settings".
	Others []string
}

// String returns the number of objects, and the first of them: "the namespace a, and with it ... (2: ConfigMap b, Secret c)".
func (n Namespace) String() string {
	const most = 3
	first := n.Others[:min(most, len(n.Others))]
	return fmt.Sprintf("the namespace %s, and with it objects that are not the operator's (%d: %s%s)",
		n.Name, len(n.Others), strings.Join(first, ", "), more(len(n.Others)-len(first)))
}

// Shared returns the namespaces of the manifests in which the cluster has foreign objects: objects that neither the manifests nor their
// roles name, that no other object owns, and that Kubernetes does not create in each namespace. Objects of the kinds that the manifests
// define do not count: see [Resources].
func Shared(ctx context.Context, config *rest.Config, m manifest.Set) ([]Namespace, error) {
	var shared []Namespace
	for _, namespace := range m.Select("Namespace") {
		n := Namespace{Name: namespace.GetName()}
		var err error
		if n.Others, err = others(ctx, config, n.Name, m); err != nil {
			return nil, fmt.Errorf("listing what is in the namespace %s: %w", n.Name, err)
		}
		if len(n.Others) > 0 {
			shared = append(shared, n)
		}
	}
	return shared, nil
}

// others names the objects in a namespace that are not the operator's.
func others(ctx context.Context, config *rest.Config, namespace string, m manifest.Set) ([]string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.ServerPreferredNamespacedResources(d)
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, list := range kinds {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, kind := range list.APIResources {
			if !slices.Contains(kind.Verbs, "list") || !slices.Contains(kind.Verbs, "delete") || comesAndGoes(kind.Name) ||
				defines(m, version.Group, kind.Kind) {
				continue
			}
			found, err := objects.Resource(version.WithResource(kind.Name)).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			for _, object := range found.Items {
				if len(object.OwnerReferences) == 0 && !ofKubernetes(kind.Name, object) && !ofManifests(m, version.Group, kind, object) {
					names = append(names, kind.Kind+" "+object.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// comesAndGoes reports whether Kubernetes itself creates the objects of a resource, for those of others.
func comesAndGoes(resource string) bool { return resource == "events" || resource == "endpoints" }

// ofKubernetes reports whether an object is one that Kubernetes creates in each namespace, or a token of a ServiceAccount.
func ofKubernetes(resource string, object metav1.PartialObjectMetadata) bool {
	switch resource {
	case "serviceaccounts":
		return object.Name == "default"
	case "configmaps":
		return object.Name == "kube-root-ca.crt"
	case "secrets":
		return object.Annotations["kubernetes.io/service-account.name"] != ""
	}
	return false
}

// defines reports whether the manifests define the kind.
func defines(m manifest.Set, group, kind string) bool {
	return slices.ContainsFunc(m.Select(definition), func(d *unstructured.Unstructured) bool {
		ownGroup, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		ownKind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		return ownGroup == group && ownKind == kind
	})
}

// ofManifests reports whether the manifests have the object, or it is one that a role of theirs names, such as the operator's lease.
func ofManifests(m manifest.Set, group string, kind metav1.APIResource, object metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(m.Objects(), func(o *unstructured.Unstructured) bool {
		if o.GetNamespace() == object.Namespace && o.GetName() == object.Name && o.GetKind() == kind.Kind && o.GroupVersionKind().Group == group {
			return true
		}
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			return false
		}
		role := &rbacv1.ClusterRole{} // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			return false // the API server will say so
		}
		return slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, kind.Name) && slices.Contains(rule.ResourceNames, object.Name)
		})
	})
}
