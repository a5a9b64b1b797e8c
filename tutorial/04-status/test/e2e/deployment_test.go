package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/04-status/api/v1alpha1"
)

func TestSize(t *testing.T) {
	to := func(least, most int32) framework.StepOf[*cachev1alpha1.Memcached] {
		return func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(least, most)) })
			settled(ctx, s, mc)
		}
	}
	framework.Given(stage.Feature("size"), created(1, 2)).
		Assess("at first", settled).
		Assess("up", to(3, 5)).
		Assess("down", to(1, 2)).
		Test(t)
}

// TestTwoInANamespace shows that the selectors of two Memcacheds share no pod.
func TestTwoInANamespace(t *testing.T) {
	stage.Feature("two in a namespace").
		Assess("have pods of their own", func(ctx context.Context, s *framework.Scope) {
			one, two := create(ctx, s, s.NewName("one"), s.Size(1, 3)), create(ctx, s, s.NewName("two"), s.Size(1, 3))
			settled(ctx, s, one)
			settled(ctx, s, two)
			for _, mc := range []*cachev1alpha1.Memcached{one, two} {
				deployment := deploymentOf(mc)
				framework.WaitForObject(ctx, s, deployment, Not(BeNil()))
				framework.WaitForObjects(ctx, s, framework.ObjectsInput{
					List:    &corev1.PodList{},
					Options: []client.ListOption{client.InNamespace(s.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)},
					Matcher: HaveLen(int(*mc.Spec.Size)),
				})
			}
		}).
		Test(t)
}

func TestPort(t *testing.T) {
	stage.Feature("port").
		Assess("memcached listens on it", func(ctx context.Context, s *framework.Scope) {
			mc, port := create(ctx, s, s.NewName("cache"), s.Size(1, 2)), s.Port()
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = &port })
			framework.WaitForObject(ctx, s, deploymentOf(mc), And(
				WithTransform(arguments, MatchRegexp(`(^| )-p %d( |$)`, port)),
				WithTransform(ports, ContainElement(port)),
			))
			settled(ctx, s, mc)
		}).
		Test(t)
}

// arguments returns the arguments of memcached as one line. There may be more of them than a test looks for.
func arguments(deployment *appsv1.Deployment) string {
	var all []string
	for _, container := range deployment.Spec.Template.Spec.Containers {
		all = append(all, container.Args...)
	}
	return strings.Join(all, " ")
}

// ports returns the ports that the containers of a Deployment declare.
func ports(deployment *appsv1.Deployment) []int32 {
	var all []int32
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			all = append(all, port.ContainerPort)
		}
	}
	return all
}

func TestRepair(t *testing.T) {
	framework.Given(stage.Feature("repair"), created(2, 3)).
		Setup(settled).
		Assess("replicas that were changed", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, s.Size(1, 5)))
			if err := s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("vandal")); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(*mc.Spec.Size))))
			settled(ctx, s, mc)
		}).
		Assess("a Deployment that was deleted", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			old := deploymentOf(mc)
			framework.WaitForObject(ctx, s, old, Not(BeNil()))
			if err := s.Client.Delete(ctx, old); err != nil {
				s.Fatal(err)
			}
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("UID", Not(Equal(old.UID))))
			settled(ctx, s, mc)
		}).
		Test(t)
}

func TestDelete(t *testing.T) {
	stage.Feature("delete").
		Assess("leaves nothing behind", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
			settled(ctx, s, mc)
			if err := s.Client.Delete(ctx, mc); err != nil {
				s.Fatal(err)
			}
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
			framework.WaitForNone(ctx, s, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
			framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace))
		}).
		Test(t)
}
