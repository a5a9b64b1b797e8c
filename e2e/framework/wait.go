package framework

import (
	"context"
	"time"

	"github.com/onsi/gomega/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

// Patient returns the scope with assertions that do not give up before timeout.
func (s *Scope) Patient(timeout time.Duration) *Scope {
	patient := *s
	patient.timeout = max(s.timeout, timeout)
	return &patient
}

// WaitForObject waits until the object exists and matches, and fills obj with it.
func WaitForObject(ctx context.Context, s *Scope, obj client.Object, matcher types.GomegaMatcher) {
	s.Helper()
	s.Expect().Object(ctx, obj, matcher)
}

// WaitForDeletion waits until none of the objects exists.
func WaitForDeletion(ctx context.Context, s *Scope, objs ...client.Object) {
	s.Helper()
	s.Expect().Gone(ctx, objs...)
}

// WaitForConditions waits until the object's status has these conditions.
func WaitForConditions(ctx context.Context, s *Scope, obj client.Object, conditions ...Condition) {
	s.Helper()
	s.Expect().Condition(ctx, obj, conditions...)
}

// WaitForDeployment waits until the Deployment has size pods.
func WaitForDeployment(ctx context.Context, s *Scope, key client.ObjectKey, size int32) {
	s.Helper()
	s.Expect().DeploymentSize(ctx, key, size)
}

// WaitForNone waits until the list is empty.
func WaitForNone(ctx context.Context, s *Scope, list client.ObjectList, opts ...client.ListOption) {
	s.Helper()
	s.Expect().NoneLeft(ctx, list, opts...)
}

// WaitForEvent waits until an event about the object is recorded.
func WaitForEvent(ctx context.Context, s *Scope, about client.Object, want Event) {
	s.Helper()
	s.Expect().Event(ctx, about, want)
}

// WaitForObjects waits until the listed objects match.
func WaitForObjects(ctx context.Context, s *Scope, list client.ObjectList, matcher types.GomegaMatcher, opts ...client.ListOption) {
	s.Helper()
	s.Expect().Objects(ctx, list, matcher, opts...)
}

// WaitFor asks again until there is no error.
func WaitFor(ctx context.Context, s *Scope, subject string, ask func(context.Context) error) {
	s.Helper()
	s.Expect().Until(ctx, subject, ask)
}

// WaitForMetrics waits until what a scrape finds matches.
func WaitForMetrics(ctx context.Context, s *Scope, scrape func(context.Context) (map[string]float64, error), matcher types.GomegaMatcher) {
	s.Helper()
	s.Expect().Metrics(ctx, scrape, matcher)
}

// WaitForRequest waits until one such write is in the audit log.
func WaitForRequest(ctx context.Context, s *Scope, what string, writes Writes, pass audit.Filter) {
	s.Helper()
	s.Expect().Logged(ctx, what, writes, pass)
}

// VerifyWrites checks that there are at most limit such writes.
func VerifyWrites(s *Scope, limit int, writes Writes) []auditv1.Event {
	s.Helper()
	return s.Expect().AtMost(limit, writes)
}

// VerifyDistinctWrites checks that no two such writes are alike.
func VerifyDistinctWrites(s *Scope, writes Writes) {
	s.Helper()
	s.Expect().Distinct(writes)
}
