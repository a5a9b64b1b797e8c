package framework

import (
	"context"
	"fmt"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

// Writes names a set of an operator's write requests.
type Writes struct {
	// Log is where they are counted.
	Log *audit.Log
	// Since is where counting begins.
	Since audit.Mark
	// User is the operator's user name.
	User string
	// Filters narrow the set further, for example to a namespace.
	Filters []audit.Filter
}

func (w Writes) read() ([]auditv1.Event, error) {
	filters := append([]audit.Filter{audit.ByUser(w.User), audit.Writes}, w.Filters...)
	return w.Log.Since(w.Since, filters...)
}

// AtMost asserts that there are not more than limit such writes, and lists them when there are. It does not wait: call it
// behind a barrier, when the operator is known to be done.
func (e *Expecter) AtMost(limit int, writes Writes) []auditv1.Event {
	e.t.Helper()
	return e.AtMostBy(func([]auditv1.Event) int { return limit }, writes)
}

// AtMostBy is AtMost with a limit that depends on the writes.
func (e *Expecter) AtMostBy(limitOf func([]auditv1.Event) int, writes Writes) []auditv1.Event {
	e.t.Helper()
	events, err := writes.read()
	if err != nil {
		e.t.Fatalf("counting the writes of %s: %v", writes.User, err)
	}
	if limit := limitOf(events); len(events) > limit {
		e.t.Fatalf("%s: expected at most %d writes; last seen: %d:\n%s", writes.User, limit, len(events), audit.Describe(events))
	}
	return events
}

// Logged waits until one such write is in the log and passes. A file has no watch that is the same on every platform,
// and the API server writes the entry before or just after it answers.
func (e *Expecter) Logged(ctx context.Context, what string, writes Writes, pass audit.Filter) {
	e.t.Helper()
	e.Until(ctx, writes.User, func(context.Context) error {
		events, err := writes.read()
		if err != nil {
			return fmt.Errorf("reading its writes: %w", err)
		}
		for i := range events {
			if pass(&events[i]) {
				return nil
			}
		}
		return fmt.Errorf("expected %s in the audit log; last seen:\n%s", what, audit.Describe(events))
	})
}

// Distinct asserts that no two of these writes to the same object have the same body, timestamps aside: a write that
// tells nobody anything new is one too many. It needs an audit policy that keeps request bodies.
func (e *Expecter) Distinct(writes Writes) {
	e.t.Helper()
	events, err := writes.read()
	if err != nil {
		e.t.Fatalf("comparing the writes of %s: %v", writes.User, err)
	}
	last := map[string]string{}
	for i := range events {
		ref, body := events[i].ObjectRef, events[i].RequestObject
		if ref == nil || body == nil {
			continue
		}
		object := fmt.Sprintf("%s/%s %s/%s", ref.Resource, ref.Subresource, ref.Namespace, ref.Name)
		text, err := withoutTimes(body.Raw)
		if err != nil {
			e.t.Fatalf("comparing the writes of %s to %s: %v", writes.User, object, err)
		}
		if last[object] == text {
			e.t.Fatalf("%s: expected each write to %s to differ from the one before; last seen twice:\n%s", writes.User, object, text)
		}
		last[object] = text
	}
}
