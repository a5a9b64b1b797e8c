package memcached

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// hold is a finalizer of somebody else.
const hold = "example.com/hold"

func TestDelete(t *testing.T) {
	feature := memcached.Feature("delete").
		WithLabel("contract", "10").
		WithLabel("contract", "7")
	framework.Given(feature, func(_ context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return named(s, s.NewName("held"))
	}).
		Assess("needs no finalizer", also(portable.NoFinalizer)).
		Assess("in the background leaves nothing", also(portable.BackgroundDeletion)).
		Assess("in the foreground leaves nothing", also(portable.ForegroundDeletion)).
		Assess("makes place for another one of the same name", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			old := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
			settled(ctx, s, old)
			remove(ctx, s, old)
			again := create(ctx, s, old.Name, s.Size(1, 3))
			framework.WaitForObject(ctx, s, deploymentOf(again), HaveField("OwnerReferences", ConsistOf(HaveField("UID", again.UID))))
			settled(ctx, s, again)
			remove(ctx, s, again)
			nothingLeft(ctx, s)
		}).
		Assess("waits for who else has a finalizer, and the operator leaves it alone", func(ctx context.Context, s *framework.Scope, held *cachev1alpha1.Memcached) {
			held.Finalizers = []string{hold}
			held.Spec.Size = new(s.Size(1, 2))
			add(ctx, s, held)
			settled(ctx, s, held)
			remove(ctx, s, held)
			framework.WaitForObject(ctx, s, held, HaveField("DeletionTimestamp", Not(BeNil())))
			mark := s.Mark()
			resize(ctx, s, held, s.Size(3, 5))
			damage(ctx, s, held, `{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		Assess("and ends when that one is done", func(ctx context.Context, s *framework.Scope, held *cachev1alpha1.Memcached) {
			release(ctx, s, held)
			framework.WaitForDeletion(ctx, s, held, deploymentOf(held))
			nothingLeft(ctx, s)
		}).
		Assess("of a Deployment that a finalizer holds is reported, and the Deployment created again after it", func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			damage(ctx, s, mc, `{"metadata":{"finalizers":["`+hold+`"]}}`)
			old := deploymentOf(mc)
			framework.WaitForObject(ctx, s, old, HaveField("Finalizers", ConsistOf(hold)))
			remove(ctx, s, old)
			framework.WaitForConditions(ctx, s, mc, terminating...)
			release(ctx, s, old)
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("UID", Not(Equal(old.UID))))
			settled(ctx, s, mc)
		}).
		Test(t)
}

// TestOrphan shows that a Deployment which a user keeps stays as it is, until there is a Memcached of its name again.
func TestOrphan(t *testing.T) {
	memcached.Feature("orphan").
		WithLabel("contract", "10").
		WithLabel("contract", "5").
		Assess("keeps the Deployment and its pods, without an owner", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
			settled(ctx, s, mc)
			kept := deploymentOf(mc)
			framework.WaitForObject(ctx, s, kept, Not(BeNil()))
			mark := s.Mark()
			remove(ctx, s, mc, client.PropagationPolicy(metav1.DeletePropagationOrphan))
			framework.WaitForDeletion(ctx, s, mc)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
			framework.WaitForObject(ctx, s, deploymentOf(mc), And(HaveField("UID", kept.UID), HaveField("OwnerReferences", BeEmpty())))
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
		}).
		Assess("until another Memcached of that name adopts it, as after a restore", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
			settled(ctx, s, mc)
			kept := deploymentOf(mc)
			framework.WaitForObject(ctx, s, kept, Not(BeNil()))
			pods := podUIDs(ctx, s, kept)
			remove(ctx, s, mc, client.PropagationPolicy(metav1.DeletePropagationOrphan))
			framework.WaitForDeletion(ctx, s, mc)
			again := create(ctx, s, mc.Name, *mc.Spec.Size)
			adopted(ctx, s, again, kept)
			settled(ctx, s, again)
			framework.WaitForObjects(ctx, s, podsOfDeployment(kept, ConsistOf(pods)))
		}).
		Test(t)
}

// TestDeleteNamespace shows that the end of a namespace needs nothing of the operator, and that the operator does not work
// against it: what it creates there is refused.
func TestDeleteNamespace(t *testing.T) {
	memcached.Feature("delete the namespace").
		WithLabel("contract", "10").
		Assess("leaves nothing, and no hot loop", func(ctx context.Context, s *framework.Scope) {
			doomed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: anotherNamespace(ctx, s)}}
			within := inNamespace(s, doomed.Name)
			for range 3 {
				settled(ctx, s, create(ctx, within, s.NewName("cache"), s.Size(1, 2)))
			}
			mark := s.Mark()
			remove(ctx, s, doomed)
			framework.WaitForDeletion(ctx, s, doomed)
			barrier(ctx, s)
			// Namespaces are emptied in no order: a Deployment may go first and be missed, and then a new one is refused.
			framework.VerifyWrites(ctx, s, 3*attempts, within.Writes(mark))
		}).
		Test(t)
}

// TestDeleteWithoutOperator owns the operator. What it would do when it is up, Kubernetes does when it is down: deletion
// needs nothing of it.
func TestDeleteWithoutOperator(t *testing.T) {
	memcached.Feature("delete without the operator").
		WithLabel("contract", "10").
		WithLabel("disruptive", "operator").
		Setup(ownOperator).
		Assess("leaves nothing", portable.DeletionWhileDown).
		Assess("nor does the operator make anything of what it never saw alive", func(ctx context.Context, s *framework.Scope) {
			s.NeedsAudit() // before there is anything with a finalizer
			stop(ctx, s)
			passUnchecked(ctx, s)
			remove(ctx, s, create(ctx, s, s.NewName("short"), s.Size(1, 2)))
			unborn := create(ctx, s, s.NewName("unborn"), s.Size(1, 2), finalizer(hold))
			remove(ctx, s, unborn)
			mark := s.Mark()
			restart(ctx, s)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
			release(ctx, s, unborn)
			framework.WaitForDeletion(ctx, s, unborn)
			nothingLeft(ctx, s)
		}).
		TestAlone(t)
}

// TestDeleteDefinition owns the cluster: with the CustomResourceDefinition, every Memcached goes.
func TestDeleteDefinition(t *testing.T) {
	memcached.Feature("delete the definition").
		WithLabel("contract", "10").
		WithLabel("disruptive", "cluster").
		Setup(collected).
		Assess("leaves nothing", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
			settled(ctx, s, mc)
			definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}}
			framework.WaitForObject(ctx, s, definition, Not(BeNil()))
			remove(ctx, s, definition)
			framework.WaitForDeletion(ctx, s, definition, deploymentOf(mc))
			nothingLeft(ctx, s)
		}).
		Assess("and the operator serves it when it is back", func(ctx context.Context, s *framework.Scope) {
			manifests, err := manifest.Render("../../operator/config/crd")
			if err != nil {
				s.Fatal(err)
			}
			if err := install.CRDs(ctx, s.Config, manifests); err != nil {
				s.Fatal(err)
			}
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
			nothingLeft(ctx, s)
		}).
		TestAlone(t)
}

// collected returns when the garbage collector knows Memcacheds: one that is deleted has taken its Deployment along. In a cluster
// that is a second old it may not, and what it has never seen is not missed when its definition is gone.
func collected(ctx context.Context, s *framework.Scope) {
	s.Helper()
	mc := create(ctx, s, s.NewName("first"), s.Size(1, 2))
	framework.WaitForObject(ctx, s, deploymentOf(mc), Not(BeNil()))
	remove(ctx, s, mc)
	framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
}

// remove deletes an object.
func remove(ctx context.Context, s *framework.Scope, object client.Object, options ...client.DeleteOption) {
	s.Helper()
	if err := s.Client.Delete(ctx, object, options...); err != nil {
		s.Fatalf("deleting %s: %v", client.ObjectKeyFromObject(object), err)
	}
}

// release takes all finalizers off an object.
func release(ctx context.Context, s *framework.Scope, object client.Object) {
	s.Helper()
	if err := s.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		s.Fatalf("taking the finalizers off %s: %v", client.ObjectKeyFromObject(object), err)
	}
}

// finalizer gives a new Memcached a finalizer.
func finalizer(name string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Finalizers = append(mc.Finalizers, name) }
}

// nothingLeft waits until the feature's namespace holds no Deployment, ReplicaSet or pod.
func nothingLeft(ctx context.Context, s *framework.Scope) {
	s.Helper()
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}} {
		framework.WaitForNone(ctx, s, list, client.InNamespace(s.Namespace))
	}
}
