package embedded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// catchUp waits until kube-apiserver's watch caches, which answer its clients, are as new as a revision of etcd: the caches of each
// kind of which something was touched, and of the kinds that every suite looks at.
func (p *Provider) catchUp(ctx context.Context, revision int64, touched map[string]bool) error {
	// The kind is in the key, after its group or not, and sometimes in two parts. Names of objects that look like kinds do no harm.
	parts := map[string]bool{"namespaces": true, "minions": true, "pods": true}
	for key := range touched {
		for part := range strings.SplitSeq(strings.TrimPrefix(key, registry), "/") {
			parts[part] = true
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
			if !parts[cmp.Or(oddlyStored[r.Name], r.Name)] || !slices.Contains(r.Verbs, "list") {
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

// oddlyStored are the resources that kube-apiserver stores under another name.
var oddlyStored = map[string]string{"nodes": "minions", "replicationcontrollers": "controllers", "ingresses": "ingress"}
