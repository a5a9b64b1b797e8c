package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/14-references/api/v1alpha1"
)

// published creates a Memcached with a ConfigMap for clients.
func published(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
	return create(ctx, s, s.NewName("cache"), publishing(s.NewName("client")))
}

const (
	// memcachedPort is the name of the operator's port of a Service.
	memcachedPort = "memcached"
	// metricsPort is the name of a port that another field manager adds.
	metricsPort = "metrics"
)

// port matches a port of a Service.
func port(name string, number int32) types.GomegaMatcher {
	return And(HaveField("Name", name), HaveField("Port", number))
}

// ownedBy matches an object that the Memcached controls.
func ownedBy(mc *cachev1alpha1.Memcached) types.GomegaMatcher {
	return HaveField("OwnerReferences", ConsistOf(And(HaveField("UID", mc.UID), HaveField("Controller", HaveValue(BeTrue())))))
}

func TestChildren(t *testing.T) {
	follow := func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
		settled(ctx, s, mc)
		framework.WaitForObject(ctx, s, serviceOf(mc), And(ownedBy(mc),
			HaveField("Spec.ClusterIP", corev1.ClusterIPNone),
			HaveField("Spec.Selector", HaveKeyWithValue(uidLabel, string(mc.UID))),
			HaveField("Spec.Ports", ConsistOf(port(memcachedPort, *mc.Spec.ContainerPort)))))
		framework.WaitForObject(ctx, s, configMapOf(mc), And(ownedBy(mc), HaveField("Data", Equal(map[string]string{
			"host": fmt.Sprintf("%s.%s.svc", mc.Name, mc.Namespace),
			"port": strconv.Itoa(int(*mc.Spec.ContainerPort)),
		}))))
	}
	framework.Given(stage.Feature("children"), published).
		Assess("are a Service and a ConfigMap that lead to the pods", follow).
		Assess("follow the port", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(s.Port()) })
			follow(ctx, s, mc)
		}).
		Assess("are repaired", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			merge(ctx, s, configMapOf(mc), `{"data":{"host":"elsewhere"}}`)
			merge(ctx, s, serviceOf(mc), `{"spec":{"selector":{"cache.example.com/memcached-uid":"elsewhere"}}}`)
			follow(ctx, s, mc)
		}).
		Assess("go with it, and the user's Secret stays", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			secret := createSecret(ctx, s, s.NewName("users"))
			change(ctx, s, mc, using(secret.Name))
			settled(ctx, s, mc)
			deleteObject(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc), serviceOf(mc), configMapOf(mc))
			framework.WaitForNone(ctx, s, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
			framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace))
			framework.WaitForObject(ctx, s, secret, HaveField("OwnerReferences", BeEmpty()))
		}).
		Test(t)
}

func TestPrune(t *testing.T) {
	framework.Given(stage.Feature("a child that is no longer wanted"), published).
		Setup(settled).
		Assess("is deleted, and no other", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			neighbor := published(ctx, s)
			notes := createConfigMap(ctx, s, s.NewName("notes"), map[string]string{uidLabel: string(mc.UID)})
			settled(ctx, s, neighbor)
			for _, name := range []string{s.NewName("renamed"), ""} {
				unwanted := configMapOf(mc)
				change(ctx, s, mc, publishing(name))
				framework.WaitForDeletion(ctx, s, unwanted)
				if name != "" {
					framework.WaitForObject(ctx, s, configMapOf(mc), ownedBy(mc))
				}
				settled(ctx, s, mc)
			}
			rest(ctx, s)
			for _, kept := range []*corev1.ConfigMap{notes, configMapOf(neighbor)} {
				NewWithT(s).Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(kept), kept)).To(Succeed(),
					"expected a ConfigMap that the Memcached does not control to stay")
			}
		}).
		Test(t)
}

func TestForeign(t *testing.T) {
	stage.Feature("what belongs to others").
		Assess("is not touched, and reported", func(ctx context.Context, s *framework.Scope) {
			taken := createConfigMap(ctx, s, s.NewName("settings"), nil)
			mc := create(ctx, s, s.NewName("cache"), publishing(taken.Name))
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
			framework.WaitForConditions(ctx, s, mc, available, nameTaken)
			rest(ctx, s)
			NewWithT(s).Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(taken), taken)).To(Succeed())
			NewWithT(s).Expect(taken.Data).To(Equal(map[string]string{"mine": "yes"}), "expected a foreign ConfigMap to stay as it is")
			NewWithT(s).Expect(taken.OwnerReferences).To(BeEmpty(), "expected a foreign ConfigMap to have no owner")

			deleteObject(ctx, s, taken)
			framework.WaitForObject(ctx, s, configMapOf(mc), ownedBy(mc))
			settled(ctx, s, mc)
		}).
		Assess("stays in an object that several write", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"))
			settled(ctx, s, mc)
			monitoring := accorev1.Service(mc.Name, mc.Namespace).
				WithAnnotations(map[string]string{"example.com/scrape": "true"}).
				WithSpec(accorev1.ServiceSpec().WithPorts(accorev1.ServicePort().WithName(metricsPort).WithPort(9150).WithProtocol(corev1.ProtocolTCP)))
			NewWithT(s).Expect(s.Client.Apply(ctx, monitoring, client.FieldOwner("monitoring"))).To(Succeed())
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(s.Port()) })
			settled(ctx, s, mc)
			framework.WaitForObject(ctx, s, serviceOf(mc), And(
				HaveField("Annotations", HaveKeyWithValue("example.com/scrape", "true")),
				HaveField("Spec.Ports", ConsistOf(port(metricsPort, 9150), port(memcachedPort, *mc.Spec.ContainerPort)))))
		}).
		Test(t)
}

func TestAdoption(t *testing.T) {
	framework.Given(stage.Feature("adoption"), published).
		Setup(settled).
		Assess("of a child whose owner reference was removed", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			for _, child := range []client.Object{serviceOf(mc), configMapOf(mc), deploymentOf(mc)} {
				merge(ctx, s, child, `{"metadata":{"ownerReferences":null}}`)
				framework.WaitForObject(ctx, s, child, ownedBy(mc))
			}
			settled(ctx, s, mc)
		}).
		Assess("of an object that its user hands over", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			mine := createConfigMap(ctx, s, s.NewName("settings"), nil)
			change(ctx, s, mc, publishing(mine.Name))
			framework.WaitForConditions(ctx, s, mc, nameTaken)
			merge(ctx, s, mine, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, uidLabel, mc.UID))
			framework.WaitForObject(ctx, s, mine, And(ownedBy(mc), HaveField("Data", And(HaveKey("host"), HaveKeyWithValue("mine", "yes")))))
			settled(ctx, s, mc)
		}).
		Test(t)
}
