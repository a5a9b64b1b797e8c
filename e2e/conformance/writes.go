package conformance

import (
	"context"

	"github.com/example/operator-testbed/e2e/audit"
)

func budget(size int64, limit int) func(context.Context, *scope) {
	return func(ctx context.Context, s *scope) {
		mark := s.mark()
		s.available(ctx, s.create(ctx, "cache", size), int32(size))
		notTheCanary := s.barrier(ctx)
		s.expect().AtMost(limit, s.writes(mark, notTheCanary))
	}
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
