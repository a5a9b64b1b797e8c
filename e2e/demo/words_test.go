package demo_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/demo"
)

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		state demo.State
		want  string
	}{
		{available, "memcached-sample: 3/3 ready, Available=True, Progressing=False, Degraded=False"},
		{broken, "memcached-sample: 0/1 ready, Available=False, Progressing=Unknown, Degraded=True"},
		{ofEarlierSpec(available), "memcached-sample: 3/3 ready, Available=True (about generation 1, not 2), Progressing=False, Degraded=False"},
		{created, "memcached-sample: no Deployment"},
		{demo.State{}, "there is no Memcached"},
	} {
		if got := test.state.Verdict(); got != test.want {
			t.Errorf("Verdict() = %q, want %q", got, test.want)
		}
	}
}

// ofEarlierSpec returns a state whose spec has changed since the condition Available was written.
func ofEarlierSpec(state demo.State) demo.State {
	state.Memcached = state.Memcached.DeepCopy()
	state.Memcached.Generation++
	for i := range state.Memcached.Status.Conditions {
		if condition := &state.Memcached.Status.Conditions[i]; condition.Type != "Available" {
			condition.ObservedGeneration++
		}
	}
	return state
}

// The picture says which condition is about an earlier spec.
func TestPictureOfAnEarlierSpec(t *testing.T) {
	_, conditions, _ := strings.Cut(ofEarlierSpec(available).Picture(demo.Style{}), "Conditions\n")
	const want = `  Available=True      AllReplicasReady   3 of 3 replicas are ready. (about generation 1, not 2)
  Progressing=False   Converged
  Degraded=False      AsExpected
`
	if diff := cmp.Diff(want, conditions); diff != "" {
		t.Errorf("the conditions (-want +got):\n%s", diff)
	}
	if ofEarlierSpec(available).Converged() {
		t.Error("it counts as converged")
	}
}

// That the commands work as printed is a test of the command line.
func TestNext(t *testing.T) {
	compareGolden(t, "next.txt", demo.Next(available.Memcached.Name, ""))
	compareGolden(t, "next-named.txt", demo.Next(available.Memcached.Name, " NAME=other"))
}
