package demo_test

import (
	"testing"

	"github.com/example/operator-testbed/e2e/demo"
)

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		state demo.State
		want  string
	}{
		{available, "memcached-sample: 3/3 ready, Available=True, Progressing=False, Degraded=False"},
		{broken, "memcached-sample: 0/1 ready, Available=False, Progressing=Unknown, Degraded=True"},
		{created, "memcached-sample: no Deployment"},
		{demo.State{}, "there is no Memcached"},
	} {
		if got := test.state.Verdict(); got != test.want {
			t.Errorf("Verdict() = %q, want %q", got, test.want)
		}
	}
}

// That the commands work as printed is a test of the command line.
func TestNext(t *testing.T) {
	compareGolden(t, "next.txt", demo.Next(available.Memcached.Name, ""))
	compareGolden(t, "next-named.txt", demo.Next(available.Memcached.Name, " NAME=other"))
}
