package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Renew returns a used cluster to the state in which [Provider.Create] would have returned it with the CustomResourceDefinitions in these
// files and directories, and no others: it does what [Provider.Reset] does, and replaces the CustomResourceDefinitions. kube-controller-manager
// is started again after that, because its garbage collector and its quota controller keep in memory which kinds there are.
//
// The error names what could not be undone. The cluster can then only be destroyed, or renewed again.
func (p *Provider) Renew(ctx context.Context, crds ...string) error {
	if p.sup == nil {
		return fmt.Errorf("renew: %w", &NotUpError{Name: p.name})
	}
	wanted, err := readCRDs(crds)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resetLimit, fmt.Errorf("it took longer than %v", resetLimit))
	defer cancel()
	if err := p.reset(ctx, kinds{replace: true, crds: wanted}); err != nil {
		return fmt.Errorf("renew the embedded cluster %s: %w", p.name, err)
	}
	return nil
}

// kinds say what a reset does about CustomResourceDefinitions.
type kinds struct {
	// replace deletes those that are there.
	replace bool
	// crds are then installed.
	crds []*apiextensionsv1.CustomResourceDefinition
}

// keepKinds leaves them as they are.
var keepKinds kinds

// unlessKept takes a step of a reset that replaces CustomResourceDefinitions.
func unlessKept(kinds kinds, do step) step {
	return func(ctx context.Context) error {
		if !kinds.replace {
			return nil
		}
		return do(ctx)
	}
}

// withControllerManager adds kube-controller-manager to the components that a reset restarts.
func withControllerManager(components []string) []string {
	if slices.Contains(components, KubeControllerManager) {
		return components
	}
	return append(components, KubeControllerManager)
}

// install installs CustomResourceDefinitions while kube-controller-manager is stopped, once kube-apiserver serves nothing any more of
// those that were deleted, whose keys in etcd are in touched. Then it watches for late ones again, as the start of a cluster does.
func (p *Provider) install(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition, touched map[string]bool) error {
	c, err := watch.NewClient(p.config)
	if err != nil {
		return err
	}
	resources, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return err
	}
	return inOrder(ctx,
		func(ctx context.Context) error { return untilForgotten(ctx, resources, deletedGroups(touched)) },
		func(ctx context.Context) error { return installCRDs(ctx, c, crds) },
		func(ctx context.Context) error { return untilDiscovered(ctx, resources, crds) },
		func(ctx context.Context) error {
			return p.sup.RunTask(ctx, lateCRDs, lateCRDs, p.layout.kubeconfigOf(self), nil)
		},
	)
}

// deletedGroups returns the API groups of the CustomResourceDefinitions among keys of etcd.
func deletedGroups(keys map[string]bool) map[string]bool {
	groups := map[string]bool{}
	for key := range keys {
		if name, ok := strings.CutPrefix(key, crdKeys); ok {
			_, group, _ := strings.Cut(name, ".")
			groups[group] = true
		}
	}
	return groups
}

// untilForgotten waits until discovery lists none of the groups. It lists them until the API server has seen that their
// CustomResourceDefinitions and the APIServices that it made for them are gone.
func untilForgotten(ctx context.Context, resources discovery.DiscoveryInterface, groups map[string]bool) error {
	var err error
	for range watch.Poll(ctx, healthPoll) {
		var served *metav1.APIGroupList
		if served, err = resources.ServerGroups(); err != nil {
			continue
		}
		at := slices.IndexFunc(served.Groups, func(g metav1.APIGroup) bool { return groups[g.Name] })
		if at < 0 {
			return nil
		}
		err = fmt.Errorf("kube-apiserver still serves the API group %s", served.Groups[at].Name)
	}
	return err
}

// untilDiscovered waits until discovery lists every version of the CustomResourceDefinitions that is served, which is a moment later than
// they are Established: clients find there where objects of the kind are.
func untilDiscovered(ctx context.Context, resources discovery.DiscoveryInterface, crds []*apiextensionsv1.CustomResourceDefinition) error {
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			if err := untilListed(ctx, resources, crd.Spec.Group+"/"+version.Name, crd.Spec.Names.Plural); err != nil {
				return err
			}
		}
	}
	return nil
}

// untilListed waits until discovery lists a resource.
func untilListed(ctx context.Context, resources discovery.DiscoveryInterface, groupVersion, plural string) error {
	var err error
	for range watch.Poll(ctx, healthPoll) {
		var list *metav1.APIResourceList
		list, err = resources.ServerResourcesForGroupVersion(groupVersion)
		if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("kube-apiserver does not list %s of %s", plural, groupVersion), err)
}
