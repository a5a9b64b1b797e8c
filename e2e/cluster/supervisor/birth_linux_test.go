package supervisor

import (
	"testing"

	"github.com/example/operator-testbed/e2e/procstat"
)

func TestHasExited(t *testing.T) {
	for name, test := range map[string]struct {
		state   string
		threads int
		want    bool
	}{
		"it runs":                                {"S", 1, false},
		"a zombie":                               {"Z", 1, true},
		"a zombie of which nothing is left":      {"Z", 0, true},
		"a zombie with a thread that still runs": {"Z", 2, false},
		"dead":                                   {"X", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasExited(procstat.Stat{State: test.state, Threads: test.threads}); got != test.want {
				t.Errorf("expected %v, got %v", test.want, got)
			}
		})
	}
}
