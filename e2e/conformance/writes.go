package conformance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

// writes are the operator's writes since the mark, without those about canaries and what belongs to them. Events are not state, and not
// counted; nor are the leases of leaders, or commands in pods.
func writes(s *framework.Scope, since audit.Mark, filters ...audit.Filter) framework.Writes {
	return s.Writes(since, append(filters,
		audit.Not(isAboutCanary), audit.Not(isConnection), audit.Not(audit.Resource("events", "")), audit.Not(audit.Resource("leases", "")))...)
}

// written returns the operator's writes since the mark.
func written(ctx context.Context, s *framework.Scope, since audit.Mark, filters ...audit.Filter) []auditv1.Event {
	return framework.VerifyWrites(ctx, s, math.MaxInt, writes(s, since, filters...))
}

// isAboutCanary passes requests about a canary or what belongs to it.
func isAboutCanary(e *auditv1.Event) bool {
	return e.ObjectRef != nil && strings.Contains(e.ObjectRef.Name, Canary) ||
		e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), `"name":"`+Canary)
}

// mentions passes requests that have a name, as [framework.Scope.NewName] returns it, in their path or their body: those about the object
// of that name, and about what has it in its own name or among its owners.
func mentions(name string) audit.Filter {
	return func(e *auditv1.Event) bool {
		return e.ObjectRef != nil && strings.Contains(e.ObjectRef.Name, name) ||
			e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), name)
	}
}

// connections are the subresources that connect to what an object stands for, such as the one of `kubectl exec`.
var connections = []string{"attach", "exec", "portforward", "proxy"}

// isConnection passes requests that only connect to a pod, a node or a Service. Their verb is that of a write.
func isConnection(e *auditv1.Event) bool {
	return e.ObjectRef != nil && slices.Contains(connections, e.ObjectRef.Subresource)
}

// createWrites is how many writes a new object may take until it is available.
const createWrites = 3

// FewWrites returns a step that limits the number of writes until a new object of that size is available.
func (c Checks) FewWrites(size int32) framework.Step {
	return func(ctx context.Context, s *framework.Scope) {
		mark := s.Mark()
		c.created(ctx, s, fmt.Sprintf("new-%d", size), c.Describe().within(size))
		c.Barrier(ctx, s)
		c.verifyWrites(ctx, s, createWrites, mark)
	}
}

// FewScaleWrites allows one write more than a creation, because the first change of a Deployment may take over the fields that were set
// when it was created.
func (c Checks) FewScaleWrites(ctx context.Context, s *framework.Scope) {
	from, to := c.scaling()
	object := c.created(ctx, s, "scaled", from)
	c.Barrier(ctx, s)
	mark := s.Mark()
	c.resize(ctx, s, object, to)
	c.waitForAvailable(ctx, s, object, to)
	c.Barrier(ctx, s)
	c.verifyWrites(ctx, s, createWrites+1, mark)
}

// scaling returns the sizes before and after a change by two, as far as the API allows it.
func (c Checks) scaling() (from, to int32) {
	to = c.Describe().within(largest)
	return max(smallest, to-2), to
}

// verifyWrites checks that since the mark there are at most limit writes, and those that report mere progress.
func (c Checks) verifyWrites(ctx context.Context, s *framework.Scope, limit int, since audit.Mark) {
	events := framework.VerifyWrites(ctx, s, math.MaxInt, writes(s, since))
	framework.VerifyWrites(ctx, s, limit+progressReports(events, cmp.Or(c.ProgressInterval, time.Second)), writes(s, since))
}

// progressReports returns how many of the writes may report mere progress: one for each full interval between the first write and
// the last. On a slow machine, pods do not become ready together.
func progressReports(writes []auditv1.Event, interval time.Duration) int {
	if len(writes) == 0 {
		return 0
	}
	first, last := writes[0].RequestReceivedTimestamp, writes[len(writes)-1].RequestReceivedTimestamp
	return int(last.Sub(first.Time) / interval)
}

// note is a patch that matters to no operator.
const note = `{"metadata":{"annotations":{"example.com/note":"does not matter"}}}`

// Quiet checks that no write follows from a change that does not matter.
func (c Checks) Quiet(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "noted", smallest)
	c.Barrier(ctx, s)
	mark := s.Mark()
	patch(ctx, s, object, note)
	c.Barrier(ctx, s)
	framework.VerifyWrites(ctx, s, 0, writes(s, mark))
}

// FewDeleteWrites allows one write on deletion.
func (c Checks) FewDeleteWrites(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "removed", smallest)
	c.Barrier(ctx, s)
	mark := s.Mark()
	c.remove(ctx, s, object)
	c.Barrier(ctx, s)
	framework.VerifyWrites(ctx, s, 1, writes(s, mark))
}

// NoConflict checks that no write is in conflict while the size changes repeatedly.
func (c Checks) NoConflict(ctx context.Context, s *framework.Scope) {
	mark := s.Mark()
	object := c.create(ctx, s, "restless", smallest)
	for size := int32(smallest) + 1; size <= c.Describe().within(largest); size++ {
		c.resize(ctx, s, object, size)
		c.waitForSize(ctx, s, object, size)
	}
	c.Barrier(ctx, s)
	framework.VerifyWrites(ctx, s, 0, writes(s, mark, audit.Code(409)))
}

// NoRestartWrites checks that the operator writes nothing after a restart. No other feature may use the operator at the same time.
func (c Checks) NoRestartWrites(ctx context.Context, s *framework.Scope) {
	for _, name := range []string{"a", "b", "c"} {
		c.created(ctx, s, name, c.several(s))
	}
	c.Barrier(ctx, s)
	mark := s.Mark()
	must(s, s.Operator.Restart(ctx))
	c.Barrier(ctx, s)
	framework.VerifyWrites(ctx, s, 0, writes(s, mark))
}
