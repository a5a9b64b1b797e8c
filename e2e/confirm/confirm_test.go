package confirm_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/confirm"
)

func TestAsk(t *testing.T) {
	for answer, want := range map[string]error{
		"y\n":   nil,
		"Yes\n": nil,
		"n\n":   confirm.ErrDeclined,
		"\n":    confirm.ErrDeclined,
		"":      confirm.ErrDeclined,
		"yep\n": confirm.ErrDeclined,
	} {
		var out strings.Builder
		if err := confirm.Ask(t.Context(), strings.NewReader(answer), &out, "Sure? [y/N] "); !errors.Is(err, want) {
			t.Errorf("the answer %q: %v, want %v", answer, err, want)
		}
		if out.String() != "Sure? [y/N] " {
			t.Errorf("the question was %q", out.String())
		}
	}
}

func TestAskIsInterrupted(t *testing.T) {
	silent, _ := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if err := confirm.Ask(ctx, silent, io.Discard, "Sure?"); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want the cause of the interruption", err)
	}
}
