package operator

import (
	"bytes"
	"testing"
)

func TestWithoutProbes(t *testing.T) {
	var out bytes.Buffer
	w := &withoutProbes{Writer: &out}
	for _, part := range []string{"Begin\n{\"msg\":\"healthz ", "check failed\"}\nhealthz check failed\nStarting wor", "kers\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("wrote %d bytes of %q, %v", n, part, err)
		}
	}
	if want := "Begin\nStarting workers\n"; out.String() != want {
		t.Errorf("expected %q, got %q", want, out.String())
	}
}
