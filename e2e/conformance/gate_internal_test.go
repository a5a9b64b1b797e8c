package conformance

import (
	"slices"
	"testing"
)

func TestCounted(t *testing.T) {
	got := counted([]string{"pods is forbidden", "services is forbidden", "pods is forbidden", "EOF", "pods is forbidden"})
	if want := []string{"pods is forbidden (3 times)", "services is forbidden", "EOF"}; !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
}
