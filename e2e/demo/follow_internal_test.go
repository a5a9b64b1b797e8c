package demo

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Watches of different kinds overtake each other; what is shown must not.
func TestCollectOrdersByRevision(t *testing.T) {
	events := make(chan event)
	go func() {
		for _, revision := range []string{"12", "9", "100"} {
			events <- event{object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: revision}}}
		}
	}()
	batch, err := collect(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, e := range batch {
		got = append(got, e.revision())
	}
	if want := []uint64{9, 12, 100}; !slices.Equal(got, want) {
		t.Errorf("revisions %v, want %v", got, want)
	}
}

func TestCollectEndsWithTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if _, err := collect(ctx, nil); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want %v", err, interrupted)
	}
}
