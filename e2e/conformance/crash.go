package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

// cuts is after how many writes for a new object the operator is killed at most.
const cuts = 10

// Crashes checks that an object ends up with the same children as without a crash if the operator is killed after its first write, after
// its second one, and so on, until it has nothing more to write. No other feature may use the operator at the same time.
func (c Checks) Crashes(ctx context.Context, s *framework.Scope) {
	s = s.Patient(healTime) // a leader that was killed still holds its lease, unless dropLeases finds it
	model, children := c.createdWithOwned(ctx, s, "uncut")
	wanted := describeKinds(children)
	for cut := range cuts {
		since, object := s.Mark(), c.create(ctx, s, fmt.Sprintf("cut-%d", cut), smallest)
		complete := c.waitForWrites(ctx, s, since, object, cut+1, wanted)
		must(s, s.Operator.Kill(ctx))
		dropLeases(ctx, s)
		must(s, s.Operator.Restart(ctx))
		c.verifySameEnd(ctx, s, model, object, wanted, fmt.Sprintf("the crash after write %d", cut+1))
		if complete {
			return
		}
	}
}

// verifySameEnd waits until an object owns the same as the model, which was created without the fault, and checks that it stays so.
func (c Checks) verifySameEnd(ctx context.Context, s *framework.Scope, model, object client.Object, wanted, fault string) {
	framework.WaitFor(ctx, s, object.GetName(), func(ctx context.Context) error {
		owns, err := c.owns(ctx, s, object)
		if err != nil || owns == wanted {
			return err
		}
		return fmt.Errorf("expected it to own %s, as without %s; last seen: %s", wanted, fault, owns)
	})
	c.sample().waitForReady(ctx, s, object)
	c.Barrier(ctx, s)
	owns, err := c.owns(ctx, s, object)
	must(s, err)
	if owns != wanted {
		if now, err := c.owns(ctx, s, model); err == nil && now != wanted {
			s.DoesNotApply("what the sample owns changes with time")
		}
		s.Fatalf("%s: expected it to own %s, as without %s; last seen: %s", object.GetName(), wanted, fault, owns)
	}
}

// dropLeases deletes the leases in the operator's namespace, for which the next leader would wait. On a cluster that the testbed did not
// create, they may belong to others, and the leader waits.
func dropLeases(ctx context.Context, s *framework.Scope) {
	if !s.Cluster.Own {
		return
	}
	namespace := strings.Split(s.Operator.UserName(), ":")[2] // system:serviceaccount:<namespace>:<name>
	must(s, s.Client.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(namespace)))
}

// waitForWrites waits until the operator has made so many writes since the mark that mention the object. It reports whether the object has
// all that it needs before that.
func (c Checks) waitForWrites(ctx context.Context, s *framework.Scope, since audit.Mark, object client.Object, count int, wanted string) (complete bool) {
	unchanged, before := 0, 0
	framework.WaitFor(ctx, s, object.GetName(), func(ctx context.Context) error {
		writes := len(written(ctx, s, since, mentions(object.GetName())))
		if writes >= count {
			return nil
		}
		owns, err := c.owns(ctx, s, object)
		if err != nil {
			return err
		}
		if unchanged++; writes != before || owns != wanted {
			unchanged, before = 0, writes
		}
		if complete = unchanged == unchangedFor(s); complete {
			return nil
		}
		return fmt.Errorf("expected %d writes, or that it owns %s and nothing more is written; last seen: %d writes, and it owns %s", count, wanted, writes, owns)
	})
	return complete
}

// owns describes what an object owns.
func (c Checks) owns(ctx context.Context, s *framework.Scope, object client.Object) (string, error) {
	belongings, err := belonging(ctx, s, object, c.sample().kinds)
	return describeKinds(owned(belongings, object)), err
}

// describeKinds returns how many objects there are of each kind, such as "1 Deployment, 2 Secret".
func describeKinds(objects []unstructured.Unstructured) string {
	counts := map[string]int{}
	for i := range objects {
		counts[objects[i].GetKind()]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}
