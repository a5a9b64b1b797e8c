// Package e2e is the suite of this chapter: what its operator does, asserted on a real API server.
package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

var stage = framework.New(framework.Options{
	Name:          "11-admission",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme},
	CRDs:          []string{"../../config/crd/bases"},
	Package:       "../../cmd",
	Kustomization: "../../config/default",
	Project:       "../..",
	Patience:      []string{"--leader-election-lease-duration=60s"},
	Sample:        "../../config/samples",
	Operand:       framework.Operand{Variable: "MEMCACHED_IMAGE", Image: "docker.io/library/memcached:1.6.39-alpine"},
	Record: []schema.GroupVersionKind{
		cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	},
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// largest is the largest size that the schema allows.
const largest = 5

// create creates a Memcached of that size in the feature's namespace.
func create(ctx context.Context, s *framework.Scope, name string, size int32) *cachev1alpha1.Memcached {
	s.Helper()
	mc := memcached(s, name, size)
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatalf("creating the Memcached %s of size %d: %v", name, size, err)
	}
	return mc
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

// restart starts the operator again with the changes, or as it was at first.
func restart(ctx context.Context, s *framework.Scope, changes ...runner.Change) {
	s.Helper()
	if err := s.Operator.Restart(ctx, changes...); err != nil {
		s.Fatal(err)
	}
}

// ownOperator is the setup of a feature that changes how the operator runs: afterwards it runs as at first.
func ownOperator(ctx context.Context, s *framework.Scope) { s.RestartAfterwards(ctx) }

// leaseOf refers to the lease that the operator's replicas compete for.
func leaseOf(s *framework.Scope) *coordinationv1.Lease {
	namespace := strings.Split(s.Operator.UserName(), ":")[2]
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached-operator.cache.example.com"}}
}
