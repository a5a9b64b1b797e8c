package conformance

import (
	"context"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

func budget(size int64, limit int) func(context.Context, *scope) {
	return func(ctx context.Context, s *scope) {
		mark := s.mark()
		s.available(ctx, s.create(ctx, "cache", size), int32(size))
		notTheCanary := s.barrier(ctx)
		s.fewWrites(limit, s.writes(mark, notTheCanary))
	}
}

// checkScaleWrites allows one write more than budget does: the first change of a Deployment may take over the fields that were set
// when it was created.
func checkScaleWrites(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 3)
	s.available(ctx, object, 3)
	s.barrier(ctx)
	mark := s.mark()
	s.change(ctx, object, func() { s.mapping.setSize(object, 5) })
	s.available(ctx, object, 5)
	notTheCanary := s.barrier(ctx)
	s.fewWrites(4, s.writes(mark, notTheCanary))
}

// fewWrites asserts that there are at most limit writes, and those that report mere progress.
func (s *scope) fewWrites(limit int, writes framework.Writes) {
	s.expect().AtMostBy(func(events []auditv1.Event) int { return limit + progressReports(events) }, writes)
}

// progressReports returns how many of the writes may report mere progress: one for each full second between the first write and the
// last. On a slow machine, pods do not become ready together.
func progressReports(writes []auditv1.Event) int {
	if len(writes) == 0 {
		return 0
	}
	first, last := writes[0].RequestReceivedTimestamp, writes[len(writes)-1].RequestReceivedTimestamp
	return int(last.Sub(first.Time) / time.Second)
}

func checkQuiet(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.available(ctx, object, 1)
	s.barrier(ctx)
	mark := s.mark()
	s.change(ctx, object, func() { object.SetAnnotations(map[string]string{"example.com/note": "does not matter"}) })
	notTheCanary := s.barrier(ctx)
	s.expect().AtMost(0, s.writes(mark, notTheCanary))
}

func checkDeleteWrites(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.available(ctx, object, 1)
	s.barrier(ctx)
	mark := s.mark()
	s.must(s.client.Delete(ctx, object))
	s.expect().Gone(ctx, object, s.deployment("cache"))
	notTheCanary := s.barrier(ctx)
	s.expect().AtMost(1, s.writes(mark, notTheCanary))
}

func checkConflicts(ctx context.Context, s *scope) {
	mark := s.mark()
	object := s.create(ctx, "cache", 1)
	for size := int64(1); size <= 5; size++ {
		s.change(ctx, object, func() { s.mapping.setSize(object, size) })
		s.sized(ctx, "cache", int32(size))
	}
	s.barrier(ctx)
	s.expect().AtMost(0, s.writes(mark, audit.Code(409)))
}

func checkRestart(ctx context.Context, s *scope) {
	for _, name := range []string{"a", "b", "c"} {
		s.available(ctx, s.create(ctx, name, 2), 2)
	}
	s.barrier(ctx)
	mark := s.mark()
	s.must(s.operator.Restart(ctx))
	notTheCanary := s.barrier(ctx)
	s.expect().AtMost(0, s.writes(mark, notTheCanary))
}
