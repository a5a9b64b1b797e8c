package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/guard"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/inventory"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// foreign is what a suite knows of a cluster that the testbed did not create.
type foreign struct {
	guard *guard.Guard
	// leases are those that were in the operator's namespace before the run.
	leases map[types.UID]bool
}

// protect puts a guard below the suite's clients, and below those of its features and of the runner, where the testbed did not create
// the cluster.
func (s *Suite) protect() error {
	if s.cluster.Capabilities().Own {
		return nil
	}
	g, err := guard.New(s.config)
	if err != nil {
		return err
	}
	g.Protect(s.config)
	s.foreign = &foreign{guard: g, leases: map[types.UID]bool{}}
	return nil
}

// respect refuses to run on a cluster that the testbed did not create if it has objects of the operator's kinds, an operator that serves
// them, or anything else that the suite would change. It writes nothing. What is there and may be shared, CustomResourceDefinitions and
// namespaces, it leaves out of the manifests: as it is, it stays.
func (s *Suite) respect(ctx context.Context) error {
	if s.foreign == nil {
		return nil
	}
	if err := inventory.Refuse(ctx, s.config, s.cluster.GetKubectlContext(), s.manifests); err != nil {
		return err
	}
	var kept []*unstructured.Unstructured
	for _, object := range s.manifests.Objects() {
		if object.GetKind() != "Namespace" || isAmong(s.added, object) {
			kept = append(kept, object)
		}
	}
	s.manifests = manifest.New(kept...)
	return s.noteLeases(ctx)
}

// isAmong reports whether the object, by its kind and name, is one of the objects.
func isAmong(objects []*unstructured.Unstructured, object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind() == object.GroupVersionKind() && client.ObjectKeyFromObject(o) == client.ObjectKeyFromObject(object)
	})
}

// noteLeases notes which leases are in the operator's namespace before it runs.
func (s *Suite) noteLeases(ctx context.Context) error {
	leases, err := s.leases(ctx)
	for _, lease := range leases {
		s.foreign.leases[lease.UID] = true
	}
	return err
}

// leases returns the leases in the operator's namespace; none where there is no operator to run.
func (s *Suite) leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	if s.options.Package == "" {
		return nil, nil
	}
	manager, err := s.manifests.Manager()
	if err != nil {
		return nil, err
	}
	list := &coordinationv1.LeaseList{}
	err = s.client.List(ctx, list, client.InNamespace(manager.Deployment.Namespace))
	return list.Items, err
}

// dropLeases deletes what an operator has left in its namespace, and the next one would wait for if it was killed. On a cluster that the
// testbed did not create, these are leases that were not there before the suite, and have the name of the operator's lease or are held by
// a process of this machine.
func (s *Suite) dropLeases(ctx context.Context) error {
	leases, err := s.leases(ctx)
	if err != nil {
		return err
	}
	if s.foreign != nil {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		names := inventory.LeaseNames(s.manifests)
		leases = slices.DeleteFunc(leases, func(lease coordinationv1.Lease) bool {
			holder := lease.Spec.HolderIdentity
			held := holder != nil && strings.HasPrefix(*holder, host+"_") // client-go's identities begin so
			return s.foreign.leases[lease.UID] || !held && !slices.Contains(names, lease.Name)
		})
	}
	for _, lease := range leases {
		err = errors.Join(err, client.IgnoreNotFound(s.client.Delete(ctx, &lease, client.Preconditions{UID: &lease.UID})))
	}
	return err
}

// leave removes what the suite has added to a cluster that stays, and stops the operator. On a cluster that the testbed did not create,
// it waits for the features' namespaces first, because their objects may have finalizers that only the operator removes.
func (s *Suite) leave(ctx context.Context) error {
	if s.foreign == nil {
		err := s.own.Shutdown(ctx)
		if os.Getenv(sharedVariable) != "" || s.cluster.Capabilities().Kept != "" { // or all of it goes with the cluster
			err = errors.Join(err, install.Remove(ctx, s.config, s.added))
		}
		return err
	}
	left := s.untilNamespacesGone(ctx)
	removable, err := s.removable(ctx)
	return errors.Join(left, s.own.Shutdown(ctx), s.dropLeases(ctx), err, install.Remove(ctx, s.config, removable))
}

// untilNamespacesGone waits until the namespaces that features have created are gone.
func (s *Suite) untilNamespacesGone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout/2)
	defer cancel()
	for _, name := range s.foreign.guard.Namespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if slices.ContainsFunc(s.added, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" && o.GetName() == name }) {
			continue
		}
		gone := func(objects []client.Object) bool { return len(objects) == 0 }
		if err := watch.Until(ctx, s.client, &corev1.NamespaceList{}, gone, watch.Named(client.ObjectKeyFromObject(namespace))...); err != nil {
			return fmt.Errorf("the namespace %s is still there: kubectl get namespace %[1]s -o yaml says why: %w", name, err)
		}
	}
	return nil
}

// removable returns what the suite has added and is to remove at the end. A CustomResourceDefinition stays if others have come to use it
// meanwhile: their objects would go with it.
func (s *Suite) removable(ctx context.Context) ([]*unstructured.Unstructured, error) {
	resources, err := inventory.Resources(ctx, s.config, manifest.New(s.added...))
	if err != nil {
		return nil, err
	}
	removable := slices.Clone(s.added)
	for _, r := range resources {
		others := inventory.Resource{Definition: r.Definition, Kind: r.Kind}
		for _, object := range r.Objects {
			if !s.foreign.guard.Created(schema.ParseGroupResource(r.Definition), object.Namespace, object.Name) {
				others.Objects = append(others.Objects, object)
			}
		}
		if len(others.Objects) == 0 {
			continue
		}
		fmt.Fprintf(os.Stderr, "the suite %s: left the CustomResourceDefinition %s, because others have created %s since the suite began\n", s.options.Name, r.Definition, others)
		removable = slices.DeleteFunc(removable, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "CustomResourceDefinition" && o.GetName() == r.Definition
		})
	}
	return removable, nil
}
