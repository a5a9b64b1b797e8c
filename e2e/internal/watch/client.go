package watch

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns a client for nodes, namespaces, ServiceAccounts, Deployments with their ReplicaSets and pods, and
// CustomResourceDefinitions. It does not ask the API server which kinds it serves, so it can be used before that is ready.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the API types: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		corev1.SchemeGroupVersion.WithKind("Node"):                              meta.RESTScopeRoot,
		corev1.SchemeGroupVersion.WithKind("Namespace"):                         meta.RESTScopeRoot,
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"):                    meta.RESTScopeNamespace,
		corev1.SchemeGroupVersion.WithKind("Pod"):                               meta.RESTScopeNamespace,
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):                        meta.RESTScopeNamespace,
		appsv1.SchemeGroupVersion.WithKind("Deployment"):                        meta.RESTScopeNamespace,
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"): meta.RESTScopeRoot,
	} {
		mapper.Add(kind, scope)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return c, nil
}
