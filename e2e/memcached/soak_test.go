package memcached

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/tier"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

var (
	soakFor  = flag.Duration("soak.for", 10*time.Minute, "how long TestSoak goes on")
	soakSeed = flag.Uint64("soak.seed", 0, "the seed of TestSoak's schedule; another one each time if 0")
)

const (
	soakNames   = 6         // how many Memcacheds there may be at once
	soakActs    = 60        // how much happens in a round, before it is quiet
	soakForeign = "foreign" // a Deployment of the name that a Memcached asks for
	soakPause   = 200 * time.Millisecond
)

// TestSoak owns the cluster. In each round much happens at random, and the operator, the API server or etcd is killed in the middle
// of it. Then it is quiet: what is asked for has to be there, no status may ever have said Available too early, the operator has
// to write nothing more, and nothing may stay of what is deleted. make soak runs it.
func TestSoak(t *testing.T) {
	tier.Nightly(t)
	seed := cmp.Or(*soakSeed, rand.Uint64())
	t.Logf("to replay it: make soak ARGS=-soak.seed=%d", seed)
	memcached.Feature("soak").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "cluster").
		Setup(operatorWith(soaking...)).
		Assess("no violation, and no write when it is quiet", func(ctx context.Context, s *framework.Scope) {
			end := time.Now().Add(*soakFor)
			for round := uint64(0); time.Now().Before(end); round++ {
				soak(ctx, s, seed, round)
			}
		}).
		TestAlone(t)
}

// soaking are the operator's flags: it rechecks soon, and outlasts a control plane that starts again.
var soaking = []runner.Change{longLease, runner.WithArgs("--recheck-interval=1s")}

// soak plays one round, and judges it.
func soak(ctx context.Context, s *framework.Scope, seed, round uint64) {
	s.Helper()
	start := len(s.Versions(ctx))
	foreign := unowned(s, soakForeign)
	add(ctx, s, foreign)
	counts := map[string]int{}
	for _, a := range schedule(seed, round) {
		pace := time.NewTimer(a.pause)
		if err := acts[a.what].do(ctx, s, a); err != nil && !isExpected(err) {
			s.Fatalf("round %d: %s %s: %v", round, a.what, a.name, err)
		}
		counts[a.what]++
		<-pace.C
	}

	// The faults stop.
	for _, object := range []client.Object{quotaOf(s), foreign} {
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, object)); err != nil {
			s.Fatal(err)
		}
	}
	list := &cachev1alpha1.MemcachedList{}
	if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		s.Fatal(err)
	}
	for i := range list.Items {
		mc := &list.Items[i]
		framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
		framework.WaitForConditions(ctx, s.Patient(framework.Converge), mc, available, converged, healthy)
	}
	mark := s.Mark()
	barrier(ctx, s)
	framework.VerifyWrites(ctx, s, 0, s.Writes(mark, notThe(canary)))
	versions := s.Versions(ctx)[start:]
	for uid, name := range memcachedsIn(versions) {
		mc := named(s, name)
		mc.UID = uid
		neverEarly(s, mc, versions, everReadyPods(uid), mostCounted(name))
	}
	for i := range list.Items {
		remove(ctx, s, &list.Items[i])
	}
	framework.WaitForNone(ctx, s, &cachev1alpha1.MemcachedList{}, client.InNamespace(s.Namespace))
	nothingLeft(ctx, s)
	s.Logf("round %d: %v; %d Memcacheds in the end, %d versions, no violation", round, counts, len(list.Items), len(versions))
}

// memcachedsIn returns the names of the Memcacheds that there were, by UID.
func memcachedsIn(versions []record.Version) map[types.UID]string {
	found := map[types.UID]string{}
	for _, v := range versions {
		if v.Object.GetKind() == "Memcached" {
			found[v.Object.GetUID()] = v.Object.GetName()
		}
	}
	return found
}

// isExpected returns whether an error comes of what happens at the same time: what is to be changed is gone, or the API server is.
// What the API server refuses is a mistake of the test's.
func isExpected(err error) bool {
	return !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err)
}

// act is something that happens in a round.
type act struct {
	what, name string
	size       int32
	pause      time.Duration
}

// acts are what may happen, and how often beside the others.
var acts = map[string]struct {
	weight int
	do     func(ctx context.Context, s *framework.Scope, a act) error
}{
	"ask": {10, func(ctx context.Context, s *framework.Scope, a act) error {
		mc := named(s, a.name)
		mc.Spec.Size = new(a.size)
		if err := s.Client.Create(ctx, mc); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return s.Client.Patch(ctx, named(s, a.name), sizePatch(a.size))
	}},
	"move": {2, func(ctx context.Context, s *framework.Scope, a act) error {
		return s.Client.Patch(ctx, named(s, a.name), rawMergePatch(fmt.Sprintf(`{"spec":{"containerPort":%d}}`, 11211+a.size)))
	}},
	"delete": {3, func(ctx context.Context, s *framework.Scope, a act) error {
		return s.Client.Delete(ctx, named(s, a.name))
	}},
	"recreate": {3, func(ctx context.Context, s *framework.Scope, a act) error {
		if err := s.Client.Delete(ctx, named(s, a.name)); err != nil {
			return err
		}
		mc := named(s, a.name)
		mc.Spec.Size = new(a.size)
		return s.Client.Create(ctx, mc)
	}},
	"drift": {5, func(ctx context.Context, s *framework.Scope, a act) error {
		return s.Client.Patch(ctx, deploymentOf(named(s, a.name)),
			client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"app.kubernetes.io/name":null}},"spec":{"replicas":%d}}`, a.size)), vandal)
	}},
	"delete the Deployment": {2, func(ctx context.Context, s *framework.Scope, a act) error {
		return s.Client.Delete(ctx, deploymentOf(named(s, a.name)))
	}},
	"delete a pod": {4, func(ctx context.Context, s *framework.Scope, a act) error {
		pods := &corev1.PodList{}
		if err := s.Client.List(ctx, pods, client.InNamespace(s.Namespace)); err != nil || len(pods.Items) == 0 {
			return err
		}
		return s.Client.Delete(ctx, &pods.Items[int(a.size)%len(pods.Items)])
	}},
	"limit": {2, func(ctx context.Context, s *framework.Scope, a act) error {
		quota := quotaOf(s)
		quota.Spec.Hard = corev1.ResourceList{"count/deployments.apps": resource.MustParse("3"), corev1.ResourcePods: *resource.NewQuantity(int64(2*a.size), resource.DecimalSI)}
		return s.Client.Create(ctx, quota)
	}},
	"lift the limit": {4, func(ctx context.Context, s *framework.Scope, _ act) error {
		return s.Client.Delete(ctx, quotaOf(s))
	}},
	"kill the operator": {1, func(ctx context.Context, s *framework.Scope, _ act) error {
		if err := s.Operator.Kill(ctx); err != nil {
			s.Fatal(err)
		}
		// The next one need not wait until the lease of the one before is over.
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, leaseOf(s))); err != nil {
			s.Fatal(err)
		}
		restart(ctx, s, soaking...)
		return nil
	}},
	// Not drawn with the others: once in a round at most.
	"kill the API server": {0, killed(cluster.KubeAPIServer)},
	"kill etcd":           {0, killed(cluster.Etcd)},
}

func killed(component string) func(context.Context, *framework.Scope, act) error {
	return func(ctx context.Context, s *framework.Scope, _ act) error {
		s.Control(ctx, component, cluster.Kill)
		s.ControlPlane(ctx)
		// kwok v0.8.0 retries a request only if the connection was refused or the server was busy (shouldRetry in
		// pkg/kwok/controllers), so an outage can make it forget a pod's deletion. A kubelet would retry.
		s.Control(ctx, cluster.Kwok, cluster.Restart)
		return nil
	}
}

func quotaOf(s *framework.Scope) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Namespace}}
}

// schedule returns what happens in a round: for a seed, always the same.
func schedule(seed, round uint64) []act {
	random := rand.New(rand.NewPCG(seed, round))
	var urn []string
	for _, what := range slices.Sorted(maps.Keys(acts)) {
		urn = append(urn, slices.Repeat([]string{what}, acts[what].weight)...)
	}
	names := []string{soakForeign}
	for i := range soakNames {
		names = append(names, fmt.Sprintf("cache-%d", i))
	}
	var result []act
	for range soakActs {
		result = append(result, act{
			what:  urn[random.IntN(len(urn))],
			name:  names[random.IntN(len(names))],
			size:  1 + random.Int32N(5),
			pause: time.Duration(random.Int64N(int64(soakPause))),
		})
	}
	disaster := [][]act{nil, {{what: "kill the API server"}}, {{what: "kill etcd"}}}[round%3]
	return slices.Insert(result, soakActs/4+random.IntN(soakActs/2), disaster...)
}

func TestSchedule(t *testing.T) {
	if !slices.Equal(schedule(1, 2), schedule(1, 2)) {
		t.Error("a seed does not replay its schedule")
	}
	if slices.Equal(schedule(1, 2), schedule(2, 2)) || slices.Equal(schedule(1, 2), schedule(1, 5)) {
		t.Error("another seed, or another round, plays the same")
	}
	seen := map[string]bool{}
	for round := range uint64(6) {
		for _, a := range schedule(1, round) {
			seen[a.what] = true
		}
	}
	for what := range acts {
		if !seen[what] {
			t.Errorf("it never happens: %s", what)
		}
	}
}
