// Package e2e is the suite of the operator isolation.
package e2e

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

var suite = framework.New(framework.Options{Name: "isolation", Package: "../..", Kustomization: "../../config"})

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

func TestIsolation(t *testing.T) {
	suite.Feature("isolation").
		Assess("a labeled namespace denies ingress", func(ctx context.Context, s *framework.Scope) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
			label := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"example.com/isolated": "true"}}}`))
			if err := s.Client.Patch(ctx, namespace, label); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, policyIn(s.Namespace), HaveField("Spec.PolicyTypes", ConsistOf(networkingv1.PolicyTypeIngress)))
		}).
		Assess("a deleted policy comes back", func(ctx context.Context, s *framework.Scope) {
			deleted := policyIn(s.Namespace)
			framework.WaitForObject(ctx, s, deleted, Not(BeNil()))
			if err := s.Client.Delete(ctx, deleted); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, policyIn(s.Namespace), HaveField("UID", Not(Equal(deleted.UID))))
		}).
		Test(t)
}

// policyIn returns the name of the namespace's policy, as an object to read it into.
func policyIn(namespace string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "deny-ingress"}}
}
