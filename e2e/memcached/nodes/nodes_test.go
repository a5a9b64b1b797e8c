// Package nodes is the end-to-end suite of the Memcached operator on a cluster of several nodes, of which one goes and comes
// back. It has the cluster to itself.
package nodes

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

var nodes = framework.New(framework.Options{
	Name:          "nodes",
	AddToScheme:   []func(*runtime.Scheme) error{cachev1alpha1.AddToScheme},
	Package:       "../../../operator/cmd",
	Kustomization: "../../../operator/config/default",
	Operand:       framework.Operand{Variable: "MEMCACHED_IMAGE", Image: "docker.io/library/memcached:1.6.39-alpine"},
	Nodes:         "../../../kind/three-nodes.yaml",
	Record: []schema.GroupVersionKind{
		cachev1alpha1.GroupVersion.WithKind("Memcached"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	},
})

func TestMain(m *testing.M) { os.Exit(nodes.Run(m)) }

// TestNodeFailure has a node lose its power, with pods on it that nobody can ask any more.
func TestNodeFailure(t *testing.T) {
	tier.Nightly(t)
	type cache struct {
		mc   *cachev1alpha1.Memcached
		node string // with a pod of it
	}
	available := func(status metav1.ConditionStatus) framework.Condition {
		return framework.Condition{Type: cachev1alpha1.ConditionAvailable, Status: status}
	}
	feature := nodes.Feature("a node").
		WithLabel("disruptive", "cluster").
		WithLabel("needs", "kubelet")
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) cache {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("cache")}}
		mc.Spec.Size = new(s.Size(2, 4))
		if err := s.Client.Create(ctx, mc); err != nil {
			s.Fatal(err)
		}
		framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
		framework.WaitForConditions(ctx, s, mc, available(metav1.ConditionTrue))
		pods := &corev1.PodList{}
		if err := s.Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil {
			s.Fatal(err)
		}
		return cache{mc, pods.Items[0].Spec.NodeName}
	}).
		Assess("that goes takes its pods with it, and the status says so", func(ctx context.Context, s *framework.Scope, c cache) {
			s.StopNode(ctx, c.node)
			framework.WaitForConditions(ctx, s, c.mc, available(metav1.ConditionFalse))
		}).
		Assess("that is away leaves them to the others", func(ctx context.Context, s *framework.Scope, c cache) {
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(c.mc), *c.mc.Spec.Size)
			framework.WaitForConditions(ctx, s, c.mc, available(metav1.ConditionTrue))
			framework.WaitForObjects(ctx, s, framework.ObjectsInput{
				List:    &corev1.PodList{},
				Options: []client.ListOption{client.InNamespace(s.Namespace)},
				Matcher: WithTransform(ready, And(HaveLen(int(*c.mc.Spec.Size)), Not(ContainElement(c.node)))),
			})
		}).
		Assess("that is back ends what it still ran", func(ctx context.Context, s *framework.Scope, c cache) {
			s.StartNode(ctx, c.node)
			framework.WaitForObjects(ctx, s, framework.ObjectsInput{
				List:    &corev1.PodList{},
				Options: []client.ListOption{client.InNamespace(s.Namespace)},
				Matcher: And(HaveLen(int(*c.mc.Spec.Size)), WithTransform(ready, HaveLen(int(*c.mc.Spec.Size)))),
			})
			framework.WaitForConditions(ctx, s, c.mc, available(metav1.ConditionTrue))
		}).
		TestAlone(t)
}

// ready returns the nodes of the pods that are ready and stay.
func ready(objects []client.Object) []string {
	var hosts []string
	for _, object := range objects {
		pod := object.(*corev1.Pod)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				hosts = append(hosts, pod.Spec.NodeName)
			}
		}
	}
	return hosts
}
