package embedded

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// catchUp has kube-apiserver bring its watch caches up to what etcd held at a
// revision, which is what its clients see from then on: those of each kind of
// which something was touched, and of what every suite looks at.
func (p *Provider) catchUp(ctx context.Context, revision int64, touched map[string]bool) error {
	prefixes := map[string]bool{registry + "namespaces/": true, nodeKeys: true, registry + "pods/": true}
	for key := range touched {
		if prefix := kindPrefix(key); !staysAfterReset(key, nil) {
			prefixes[prefix] = true
		}
	}
	resources, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return err
	}
	served, err := resources.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("ask kube-apiserver what it serves: %w", err)
	}
	client, err := metadata.NewForConfig(p.config)
	if err != nil {
		return err
	}
	upToDate := metav1.ListOptions{
		ResourceVersion: strconv.FormatInt(revision, 10), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, list := range served {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, r := range list.APIResources {
			if !prefixes[storedUnder(version.Group, r.Name)] || !slices.Contains(r.Verbs, "list") {
				continue
			}
			group.Go(func() error {
				_, err := client.Resource(version.WithResource(r.Name)).List(ctx, upToDate)
				if err != nil && !apierrors.IsNotFound(err) {
					return fmt.Errorf("ask kube-apiserver for all %s: %w", r.Name, err)
				}
				return nil
			})
		}
	}
	return group.Wait()
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
