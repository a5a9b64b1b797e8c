// Package e2e is the suite of this chapter: what its operator does, asserted on a real API server.
package e2e

import (
	"context"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/09-availability/api/v1alpha1"
)

var stage = framework.New(framework.Options{
	Name:          "09-availability",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme},
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
	Project:       "../..",
	Patience:      []string{"--leader-election-lease-duration=60s"},
	Operand:       framework.Operand{Variable: "MEMCACHED_IMAGE", Image: "docker.io/library/memcached:1.6.39-alpine"},
	Record: []schema.GroupVersionKind{
		cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// create creates a Memcached of that size in the feature's namespace.
func create(ctx context.Context, s *framework.Scope, name string, size int32) *cachev1alpha1.Memcached {
	s.Helper()
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size},
	}
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatalf("creating the Memcached %s of size %d: %v", name, size, err)
	}
	return mc
}

// change patches the Memcached's spec and keeps mc up to date.
func change(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, edit func(*cachev1alpha1.MemcachedSpec)) {
	s.Helper()
	before := mc.DeepCopy()
	edit(&mc.Spec)
	if err := s.Client.Patch(ctx, mc, client.MergeFrom(before)); err != nil {
		s.Fatalf("changing the Memcached %s: %v", mc.Name, err)
	}
}

var (
	available = framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonAllReplicasReady}
	converged = framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonConverged}
	healthy   = framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonAsExpected}
)

// settled waits until the Memcached's Deployment has as many ready pods as the Memcached asks for, and its status reports it.
func settled(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
	framework.WaitForConditions(ctx, s, mc, available, converged, healthy)
}

// restart starts the operator again with the changes, or as it was at first. The lease is free then: an operator that was killed
// has not given it back, nor has one that was stopped while it asked for it, and the next one would wait until it expires.
func restart(ctx context.Context, s *framework.Scope, changes ...runner.Change) {
	s.Helper()
	if err := s.Operator.Stop(ctx); err != nil {
		s.Fatal(err)
	}
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, leaseOf(s))); err != nil {
		s.Fatal(err)
	}
	if err := s.Operator.Restart(ctx, changes...); err != nil {
		s.Fatal(err)
	}
}

// ownOperator is the setup of a feature that changes how the operator runs: afterwards it runs as at first.
func ownOperator(ctx context.Context, s *framework.Scope) {
	ctx = context.WithoutCancel(ctx)
	s.Cleanup(func() { restart(ctx, s) })
}

// manifests are what kubectl kustomize renders of config/default.
func manifests(s *framework.Scope) manifest.Set {
	s.Helper()
	directory, err := stage.Manifests("../../config/default")
	if err != nil {
		s.Fatal(err)
	}
	rendered, err := manifest.Render(directory)
	if err != nil {
		s.Fatal(err)
	}
	return rendered
}

// managerOf returns the manager's Deployment in the manifests.
func managerOf(s *framework.Scope, m manifest.Set) *appsv1.Deployment {
	s.Helper()
	manager := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.Select("Deployment")[0].Object, manager); err != nil {
		s.Fatal(err)
	}
	return manager
}
