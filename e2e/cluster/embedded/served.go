package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// disagrees asks kube-apiserver for the names of all objects of each kind of
// which something was touched, and of what every suite looks at. It returns the
// name of one that is served and not stored, or the other way round; empty when
// there is none. To answer, kube-apiserver brings its watch cache up to what
// etcd holds, which is what its clients see from then on.
func (p *Provider) disagrees(ctx context.Context, now contents, touched map[string]bool) (string, error) {
	prefixes := map[string]bool{registry + "namespaces/": true, nodeKeys: true, registry + "pods/": true}
	for key := range touched {
		if prefix := kindPrefix(key); !renewed(key) && !staysAfterReset(key, nil) {
			prefixes[prefix] = true
		}
	}
	resources, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return "", err
	}
	served, err := resources.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return "", fmt.Errorf("ask kube-apiserver what it serves: %w", err)
	}
	client, err := metadata.NewForConfig(p.config)
	if err != nil {
		return "", err
	}
	var mu sync.Mutex
	differs := ""
	group, ctx := errgroup.WithContext(ctx)
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return "", err
		}
		for _, r := range list.APIResources {
			prefix := storedUnder(version.Group, r.Name)
			if !prefixes[prefix] || !slices.Contains(r.Verbs, "list") {
				continue
			}
			group.Go(func() error {
				objects, err := client.Resource(version.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					return fmt.Errorf("ask kube-apiserver for all %s: %w", r.Name, err)
				}
				if name := difference(prefix, now, objects); name != "" {
					mu.Lock()
					defer mu.Unlock()
					differs = r.Kind + " " + name
				}
				return nil
			})
		}
	}
	return differs, group.Wait()
}

// difference returns the name of an object that is only among those stored
// under the prefix or only among those listed; empty when there is none.
func difference(prefix string, stored contents, listed *metav1.PartialObjectMetadataList) string {
	names := map[string]bool{}
	for _, object := range listed.Items {
		name := strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")
		if names[name] = true; stored[prefix+name].Value == nil {
			return name
		}
	}
	for key := range stored {
		if name, ok := strings.CutPrefix(key, prefix); ok && !names[name] {
			return name
		}
	}
	return ""
}

// oddlyStored are the resources that kube-apiserver does not store under their
// name.
var oddlyStored = map[string]string{
	"nodes":                  "minions",
	"replicationcontrollers": "controllers",
	"services":               "services/specs",
	"endpoints":              "services/endpoints",
	"ingresses":              "ingress",
}

// storedUnder returns what the keys of a resource's objects begin with:
// Kubernetes' own have no group in them, unless another server was meant to
// serve them.
func storedUnder(group, resource string) string {
	if odd, ok := oddlyStored[resource]; ok && !foreign(group) {
		return registry + odd + "/"
	}
	if foreign(group) {
		return registry + group + "/" + resource + "/"
	}
	return registry + resource + "/"
}

// foreign reports whether the group is no part of kube-apiserver itself.
func foreign(group string) bool {
	return group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" ||
		strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// kindPrefix returns the part of a key that all objects of the kind share.
func kindPrefix(key string) string {
	parts := strings.Split(strings.TrimPrefix(key, registry), "/")
	n := 1
	if strings.Contains(parts[0], ".") || parts[0] == "services" {
		n = 2
	}
	return registry + strings.Join(parts[:min(n, len(parts))], "/") + "/"
}

// objectName names an object by kind and name, as far as etcd knows.
func objectName(key string, value []byte) string {
	name := strings.TrimPrefix(key, kindPrefix(key))
	if kind := kindOf(value); kind != "" {
		return kind + " " + name
	}
	return strings.TrimPrefix(key, registry)
}

// kindOf returns the kind of a stored object; empty when it has none.
func kindOf(value []byte) string {
	if object := new(unstructured.Unstructured); object.UnmarshalJSON(value) == nil {
		return object.GetKind()
	}
	content, ok := strings.CutPrefix(string(value), "k8s\x00")
	if unknown := new(runtime.Unknown); ok && unknown.Unmarshal([]byte(content)) == nil {
		return unknown.Kind
	}
	return ""
}
