// Package memcached is the end-to-end suite of the Memcached operator: what a user of it relies on, asserted on a real API
// server. See package framework for how it runs.
package memcached

import (
	"context"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

var memcached = framework.New(framework.Options{
	Name:          "memcached",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme, apiextensionsv1.AddToScheme},
	CRDs:          []string{"../../operator/config/crd/bases"},
	Package:       "../../operator/cmd",
	Kustomization: "../../operator/config/default",
	Project:       "../../operator",
	Patience:      longLeaseArgs,
	Sample:        "../../operator/config/samples",
	Inputs: []string{
		"../../operator", "internal", // its Makefile and chart; and a program for a pod
		"../../scripts/outside-root.mk", "../../scripts/go-settings.mk", "../../scripts/protected.mk", "../../scripts/helm",
	},
	Operand: framework.Operand{Variable: "MEMCACHED_IMAGE", Image: "docker.io/library/memcached:1.6.39-alpine"},
	Record: []schema.GroupVersionKind{
		cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	},
	Always: always,
})

func TestMain(m *testing.M) {
	code := memcached.Run(m)
	_ = os.RemoveAll(builds.dir)
	os.Exit(code)
}

// single is the size of a Memcached that has one pod, for features in which that one is missed.
const single = 1

// create creates a Memcached of that size in the feature's namespace.
func create(ctx context.Context, s *framework.Scope, name string, size int32, with ...func(*cachev1alpha1.Memcached)) *cachev1alpha1.Memcached {
	s.Helper()
	mc := named(s, name)
	mc.Spec.Size = new(size)
	for _, edit := range with {
		edit(mc)
	}
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatalf("creating the Memcached %s of size %d: %v", name, size, err)
	}
	return mc
}

// created returns a function that creates a Memcached of a size from least to most, for features about one.
func created(least, most int32) func(context.Context, *framework.Scope) *cachev1alpha1.Memcached {
	return func(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return create(ctx, s, s.NewName("cache"), s.Size(least, most))
	}
}

// add creates an object.
func add(ctx context.Context, s *framework.Scope, object client.Object) {
	s.Helper()
	if err := s.Client.Create(ctx, object); err != nil {
		s.Fatalf("creating %T %s: %v", object, client.ObjectKeyFromObject(object), err)
	}
}

// named refers to a Memcached in the feature's namespace.
func named(s *framework.Scope, name string) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
}

// inNamespace returns the feature's scope in another namespace.
func inNamespace(s *framework.Scope, namespace string) *framework.Scope {
	other := *s
	other.Namespace = namespace
	return &other
}

// anotherNamespace returns a namespace beside the feature's own, with labels (name, value, name, value). It goes with the test.
func anotherNamespace(ctx context.Context, s *framework.Scope, labels ...string) string {
	s.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: s.Namespace + "-other-", Labels: map[string]string{}}}
	for label := range slices.Chunk(labels, 2) {
		namespace.Labels[label[0]] = label[1]
	}
	add(ctx, s, namespace)
	s.Cleanup(func() {
		if err := client.IgnoreNotFound(s.Client.Delete(context.WithoutCancel(ctx), namespace)); err != nil {
			s.Error(err)
		}
	})
	framework.WaitForServiceAccount(ctx, s, namespace.Name)
	return namespace.Name
}

// deploymentOf refers to a Memcached's Deployment.
func deploymentOf(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name}}
}

// change patches the Memcached's spec and keeps mc up to date, its generation included.
func change(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, edit func(*cachev1alpha1.MemcachedSpec)) {
	s.Helper()
	before := mc.DeepCopy()
	edit(&mc.Spec)
	if err := s.Client.Patch(ctx, mc, client.MergeFrom(before)); err != nil {
		s.Fatalf("changing the Memcached %s: %v", mc.Name, err)
	}
}

// resize changes the Memcached's size as change does.
func resize(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, size int32) {
	s.Helper()
	change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = &size })
}

var (
	available = framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonAllReplicasReady}
	converged = framework.Condition{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonConverged}
	healthy   = framework.Condition{Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonAsExpected}
)

// settled waits until the Deployment has the Memcached's size and the status says so, in all three conditions.
func settled(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
	framework.WaitForConditions(ctx, s, mc, available, converged, healthy)
}

// terminating are the conditions while somebody holds the Deployment, which is being deleted.
var terminating = []framework.Condition{
	{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonDeploymentTerminating},
	{Type: cachev1alpha1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonDeploymentTerminating},
}
