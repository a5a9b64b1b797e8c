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
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/suite"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// hold is a finalizer of somebody else.
const hold = "example.com/hold"

func TestDelete(t *testing.T) {
	by := func(policy metav1.DeletionPropagation) suite.StepFunc {
		return func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			remove(ctx, t, s, mc, client.PropagationPolicy(policy))
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			nothingLeft(ctx, t, s)
		}
	}
	var held *cachev1alpha1.Memcached
	memcached.Test(t, features.New("delete").
		WithLabel("contract", "10").
		WithLabel("contract", "7").
		Assess("in the background leaves nothing", suite.Step(by(metav1.DeletePropagationBackground))).
		Assess("in the foreground leaves nothing", suite.Step(by(metav1.DeletePropagationForeground))).
		Assess("makes place for another one of the same name", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			old := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, old)
			remove(ctx, t, s, old)
			again := create(ctx, t, s, "cache", 1)
			s.Expect(t).Object(ctx, deploymentOf(again), HaveField("OwnerReferences", ConsistOf(HaveField("UID", again.UID))))
			settled(ctx, t, s, again)
			remove(ctx, t, s, again)
			nothingLeft(ctx, t, s)
		})).
		Assess("waits for who else has a finalizer, and the operator leaves it alone", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			held = create(ctx, t, s, "held", 1, finalizer(hold))
			settled(ctx, t, s, held)
			remove(ctx, t, s, held)
			s.Expect(t).Object(ctx, held, HaveField("DeletionTimestamp", Not(BeNil())))
			mark := s.Mark(t)
			change(ctx, t, s, held, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
			damage(ctx, t, s, held, `{"metadata":{"labels":{"app.kubernetes.io/name":"other"}}}`)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
		})).
		Assess("and ends when that one is done", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			release(ctx, t, s, held)
			s.Expect(t).Gone(ctx, held, deploymentOf(held))
			nothingLeft(ctx, t, s)
		})).
		Assess("of a Deployment that somebody holds is told, and mended after it", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			damage(ctx, t, s, mc, `{"metadata":{"finalizers":["`+hold+`"]}}`)
			old := deploymentOf(mc)
			s.Expect(t).Object(ctx, old, HaveField("Finalizers", ConsistOf(hold)))
			remove(ctx, t, s, old)
			s.Expect(t).Condition(ctx, mc, terminating...)
			release(ctx, t, s, old)
			s.Expect(t).Object(ctx, deploymentOf(mc), HaveField("UID", Not(Equal(old.UID))))
			settled(ctx, t, s, mc)
		})).
		Feature())
}

// TestOrphan shows that who asks to keep the pods keeps them: the operator takes nothing back.
func TestOrphan(t *testing.T) {
	memcached.Test(t, features.New("orphan").
		WithLabel("contract", "10").
		Assess("keeps the Deployment and its pods, without an owner", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			kept := deploymentOf(mc)
			s.Expect(t).Object(ctx, kept, Not(BeNil()))
			mark := s.Mark(t)
			remove(ctx, t, s, mc, client.PropagationPolicy(metav1.DeletePropagationOrphan))
			s.Expect(t).Gone(ctx, mc)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
			s.Expect(t).Object(ctx, deploymentOf(mc), And(HaveField("UID", kept.UID), HaveField("OwnerReferences", BeEmpty())))
			s.Expect(t).DeploymentSize(ctx, client.ObjectKeyFromObject(mc), 2)
		})).
		Feature())
}

// TestDeleteNamespace shows that the end of a namespace needs nothing of the operator, and that the operator does not work
// against it: what it creates there is refused.
func TestDeleteNamespace(t *testing.T) {
	memcached.Test(t, features.New("delete the namespace").
		WithLabel("contract", "10").
		Assess("leaves nothing, and no hot loop", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			doomed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: s.Namespace + "-doomed-"}}
			add(ctx, t, s, doomed)
			within := *s
			within.Namespace = doomed.Name
			for _, name := range []string{"a", "b", "c"} {
				settled(ctx, t, s, create(ctx, t, &within, name, 1))
			}
			mark := s.Mark(t)
			remove(ctx, t, s, doomed)
			s.Expect(t).Gone(ctx, doomed)
			barrier(ctx, t, s)
			// Namespaces are emptied in no order: a Deployment may go first and be missed, and then a new one is refused.
			s.Expect(t).AtMost(3*attempts, within.Writes(mark))
		})).
		Feature())
}

// TestDeleteWithoutOperator owns the operator. What it would do when it is up, Kubernetes does when it is down: deletion
// needs nothing of it.
func TestDeleteWithoutOperator(t *testing.T) {
	var unborn *cachev1alpha1.Memcached
	memcached.TestAlone(t, features.New("delete without the operator").
		WithLabel("contract", "10").
		WithLabel("disruptive", "operator").
		Setup(suite.Step(ownOperator)).
		Assess("leaves nothing", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			stop(ctx, t, s)
			remove(ctx, t, s, mc)
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			nothingLeft(ctx, t, s)
		})).
		Assess("nor does the operator make anything of what it never saw alive", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			passUnjudged(ctx, t, s)
			remove(ctx, t, s, create(ctx, t, s, "short", 1))
			unborn = create(ctx, t, s, "unborn", 1, finalizer(hold))
			remove(ctx, t, s, unborn)
			mark := s.Mark(t)
			restart(ctx, t, s)
			barrier(ctx, t, s)
			s.Expect(t).AtMost(0, s.Writes(mark, notThe(canary)))
			release(ctx, t, s, unborn)
			s.Expect(t).Gone(ctx, unborn)
			nothingLeft(ctx, t, s)
		})).
		Feature())
}

// TestDeleteDefinition owns the cluster: with the CustomResourceDefinition, every Memcached goes.
func TestDeleteDefinition(t *testing.T) {
	memcached.TestAlone(t, features.New("delete the definition").
		WithLabel("contract", "10").
		WithLabel("disruptive", "cluster").
		Setup(suite.Step(collected)).
		Assess("leaves nothing", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			mc := create(ctx, t, s, "cache", 2)
			settled(ctx, t, s, mc)
			definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "memcacheds.cache.example.com"}}
			s.Expect(t).Object(ctx, definition, Not(BeNil()))
			remove(ctx, t, s, definition)
			s.Expect(t).Gone(ctx, definition, deploymentOf(mc))
			nothingLeft(ctx, t, s)
		})).
		Assess("and the operator serves it when it is back", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			manifests, err := runner.Render("../../operator/config/crd")
			if err != nil {
				t.Fatal(err)
			}
			if err := runner.Define(ctx, s.Config, manifests); err != nil {
				t.Fatal(err)
			}
			mc := create(ctx, t, s, "cache", 1)
			settled(ctx, t, s, mc)
			remove(ctx, t, s, mc)
			s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
			nothingLeft(ctx, t, s)
		})).
		Feature())
}

// collected returns when the garbage collector knows Memcacheds: one that is deleted has taken its Deployment along. In a cluster
// that is a second old it may not, and what it has never seen is not missed when its definition is gone.
func collected(ctx context.Context, t *testing.T, s *suite.Scope) {
	t.Helper()
	mc := create(ctx, t, s, "first", 1)
	s.Expect(t).Object(ctx, deploymentOf(mc), Not(BeNil()))
	remove(ctx, t, s, mc)
	s.Expect(t).Gone(ctx, mc, deploymentOf(mc))
}

// remove deletes an object.
func remove(ctx context.Context, t *testing.T, s *suite.Scope, object client.Object, options ...client.DeleteOption) {
	t.Helper()
	if err := s.Client.Delete(ctx, object, options...); err != nil {
		t.Fatalf("deleting %s: %v", client.ObjectKeyFromObject(object), err)
	}
}

// release takes all finalizers off an object.
func release(ctx context.Context, t *testing.T, s *suite.Scope, object client.Object) {
	t.Helper()
	if err := s.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatalf("taking the finalizers off %s: %v", client.ObjectKeyFromObject(object), err)
	}
}

// finalizer gives a new Memcached a finalizer.
func finalizer(name string) func(*cachev1alpha1.Memcached) {
	return func(mc *cachev1alpha1.Memcached) { mc.Finalizers = append(mc.Finalizers, name) }
}

// nothingLeft waits until the feature's namespace holds no Deployment, ReplicaSet or pod.
func nothingLeft(ctx context.Context, t *testing.T, s *suite.Scope) {
	t.Helper()
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}} {
		s.Expect(t).NoneLeft(ctx, list, client.InNamespace(s.Namespace))
	}
}
