// Package e2e is the suite of this chapter: what its operator in Go does, asserted on a real API server.
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
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/18-operator-sdk/api/v1alpha1"
)

var stage = framework.New(framework.Options{
	Name:          "18-operator-sdk",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme},
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
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

// created returns a step that creates a Memcached of a size from least to most, for features about one.
func created(least, most int32) func(context.Context, *framework.Scope) *cachev1alpha1.Memcached {
	return func(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return create(ctx, s, s.NewName("cache"), s.Size(least, most))
	}
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

// deploymentOf refers to a Memcached's Deployment.
func deploymentOf(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
}

// settled waits until the Memcached's Deployment has as many ready pods as the Memcached asks for.
func settled(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
}
