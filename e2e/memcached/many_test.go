package memcached

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	// simulated and running are how many Memcacheds come at once, where pods are only said to run and where they do: starting 20
	// takes a small machine a minute.
	simulated, running = 300, 20

	// attempts is how often a request that is refused may be made: what an exponential back-off from 5 ms comes to in two
	// minutes. A hot loop makes hundreds a second.
	attempts = 15
)

// TestMany owns the operator and, for its load, the cluster.
func TestMany(t *testing.T) {
	type crowd struct {
		size  int
		since audit.Mark
	}
	feature := memcached.Feature("many").
		WithLabel("contract", "6").
		WithLabel("disruptive", "operator").
		Setup(ownOperator)
	framework.Given(feature, func(_ context.Context, s *framework.Scope) crowd {
		if s.Cluster.RunsPods {
			return crowd{running, s.Mark()}
		}
		return crowd{simulated, s.Mark()}
	}).
		Assess("become Available, all of them", func(ctx context.Context, s *framework.Scope, many crowd) {
			createMany(ctx, s, many.size)
		}).
		Assess("with few writes each", func(ctx context.Context, s *framework.Scope, many crowd) {
			barrier(ctx, s)
			framework.VerifyDistinctWrites(ctx, s, s.Writes(many.since, audit.Resource("memcacheds", "status")))
			perObject := map[string]int{}
			for _, event := range framework.VerifyWrites(ctx, s, many.size*writeBudget, s.Writes(many.since, notThe(canary))) {
				perObject[subjectOf(&event)]++
			}
			for name, writes := range perObject {
				if writes > writeBudget {
					s.Errorf("Memcached %s: expected at most %d writes; last seen: %d", name, writeBudget, writes)
					framework.VerifyWrites(ctx, s, writeBudget, s.Writes(many.since, the(name)))
				}
			}
			framework.VerifyWrites(ctx, s, 0, s.Writes(many.since, audit.Code(409)))
		}).
		Assess("and none when the operator restarts", func(ctx context.Context, s *framework.Scope, _ crowd) {
			mark := s.Mark()
			restart(ctx, s)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
		}).
		Assess("and go, all at once, without one", func(ctx context.Context, s *framework.Scope, many crowd) {
			mark := s.Mark()
			if err := s.Client.DeleteAllOf(ctx, &cachev1alpha1.Memcached{}, client.InNamespace(s.Namespace)); err != nil {
				s.Fatal(err)
			}
			framework.WaitForNone(ctx, s, &cachev1alpha1.MemcachedList{}, client.InNamespace(s.Namespace))
			nothingLeft(ctx, s)
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, many.size, s.Writes(mark, notThe(canary)))
		}).
		TestAlone(t)
}

// createMany creates Memcacheds of size 1 at once, and waits until all of them are Available.
func createMany(ctx context.Context, s *framework.Scope, many int) {
	s.Helper()
	var clients errgroup.Group
	clients.SetLimit(20)
	for range many {
		mc := named(s, s.NewName("cache"))
		mc.Spec.Size = new(int32(single))
		clients.Go(func() error { return s.Client.Create(ctx, mc) })
	}
	if err := clients.Wait(); err != nil {
		s.Fatal(err)
	}
	// How long so many take is up to the machine, also where a mutant leaves other assertions little time. So each half of those that are
	// left has as much time as the one before.
	for left := many; left > 0; left /= 2 {
		framework.WaitForObjects(ctx, s.Patient(framework.Converge), framework.ObjectsInput{
			List:    &cachev1alpha1.MemcachedList{},
			Options: []client.ListOption{client.InNamespace(s.Namespace)},
			Matcher: And(HaveLen(many), WithTransform(notAvailable(left/2), BeEmpty())),
		})
	}
}

// notAvailable returns a function that returns the names of those Memcacheds that are not Available, for their current generation, without
// the first few.
func notAvailable(few int) func([]client.Object) []string {
	return func(objects []client.Object) []string {
		var names []string
		for _, object := range objects {
			mc := object.(*cachev1alpha1.Memcached)
			c := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionAvailable)
			if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != mc.Generation {
				names = append(names, mc.Name)
			}
		}
		return names[min(few, len(names)):]
	}
}

// subjectOf returns the name of the object that a request is about. One that is created has its name in the request's body alone.
func subjectOf(event *auditv1.Event) string {
	if event.ObjectRef.Name != "" || event.RequestObject == nil {
		return event.ObjectRef.Name
	}
	created := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(event.RequestObject.Raw, created); err != nil {
		return ""
	}
	return created.Name
}

// TestFailingNeighbors shows that Memcacheds whose Deployments are refused, more of them than the operator has workers, keep
// nobody else waiting, and that the API server is not asked in a loop.
func TestFailingNeighbors(t *testing.T) {
	const failing = 10 // more than the operator works on at once; fewer share what a hot loop can do
	memcached.Feature("failing neighbors").
		WithLabel("contract", "8").
		Assess("slow nobody down", func(ctx context.Context, s *framework.Scope) {
			full := inNamespace(s, namespaceWithout(ctx, s, "count/deployments.apps"))
			mark := s.Mark()
			for range failing {
				create(ctx, full, s.NewName("refused"), s.Size(1, 2))
			}
			for range 3 {
				settled(ctx, s, create(ctx, s, s.NewName("neighbor"), s.Size(1, 2)))
			}
			barrier(ctx, s)
			framework.WaitForNone(ctx, s, &appsv1.DeploymentList{}, client.InNamespace(full.Namespace))
			framework.VerifyWrites(ctx, s, failing*attempts, full.Writes(mark, audit.Resource("deployments", "")))
		}).
		Test(t)
}

// namespaceWithout returns another namespace, one whose quota leaves nothing of the resource. It goes with the test.
func namespaceWithout(ctx context.Context, s *framework.Scope, name corev1.ResourceName) string {
	s.Helper()
	namespace := anotherNamespace(ctx, s)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: resource.MustParse("0")}},
	}
	add(ctx, s, quota)
	framework.WaitForObject(ctx, s, quota, HaveField("Status.Hard", HaveKey(name)))
	return namespace
}
