package demo

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/framework/record"
)

// Watches of different kinds overtake each other; what is shown must not.
func TestCollectOrdersByRevision(t *testing.T) {
	seen := []record.Version{{Revision: 7}, {Revision: 12}, {Revision: 9}, {Revision: 100}}
	delivered := 2
	got, err := collect(t.Context(), 1, func(_ context.Context, n int) ([]record.Version, error) {
		versions := seen[n:delivered]
		delivered = len(seen) // the others come a moment later
		return versions, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record.Version{{Revision: 9}, {Revision: 12}, {Revision: 100}}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestCollectEndsWithTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if _, err := collect(ctx, 0, func(context.Context, int) ([]record.Version, error) { return nil, nil }); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want %v", err, interrupted)
	}
}
