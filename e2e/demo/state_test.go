package demo_test

import (
	"testing"

	"github.com/example/operator-testbed/e2e/demo"
)

func TestConverged(t *testing.T) {
	// changed is the state that counts as converged, with one thing different.
	changed := func(change func(*demo.State)) demo.State {
		memcached, deployment := *available.Memcached, *available.Deployment
		memcached.Conditions = append([]demo.Condition(nil), memcached.Conditions...)
		state := demo.State{Memcached: &memcached, Deployment: &deployment, Pods: available.Pods}
		change(&state)
		return state
	}
	for _, test := range []struct {
		name  string
		state demo.State
		want  bool
	}{
		{"all as it should be", available, true},
		{"nothing there", demo.State{}, false},
		{"no Deployment yet", created, false},
		{"rolling out", rollingOut, false},
		{"Degraded", broken, false},
		{"a pod short", changed(func(s *demo.State) { s.Deployment.Ready = 2 }), false},
		{"Deployment of another size", changed(func(s *demo.State) { s.Deployment.Wanted, s.Deployment.Ready = 2, 2 }), false},
		{"a pod too many", changed(func(s *demo.State) { s.Deployment.Ready = 4 }), false},
		{"conditions speak of an older spec", changed(func(s *demo.State) { s.Memcached.Generation = 2 }), false},
		{"still Progressing", changed(func(s *demo.State) { s.Memcached.Conditions[1].Status = "True" }), false},
		{"a condition is missing", changed(func(s *demo.State) { s.Memcached.Conditions = s.Memcached.Conditions[:2] }), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.state.Converged(); got != test.want {
				t.Errorf("Converged() = %v, want %v", got, test.want)
			}
		})
	}
}
