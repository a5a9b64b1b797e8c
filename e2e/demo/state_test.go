package demo_test

import (
	"testing"

	"github.com/example/operator-testbed/e2e/demo"
)

func TestConverged(t *testing.T) {
	// changed is the state that counts as converged, with one thing different.
	changed := func(change func(*demo.State)) demo.State {
		state := demo.State{Memcached: available.Memcached.DeepCopy(), Deployment: available.Deployment.DeepCopy(), Pods: available.Pods}
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
		{"a pod short", changed(func(s *demo.State) { s.Deployment.Status.ReadyReplicas = 2 }), false},
		{"a pod not yet seen to be ready", changed(func(s *demo.State) { s.Pods = rollingOut.Pods }), false},
		{"Deployment of another size", changed(func(s *demo.State) { s.Deployment = deploymentOf("memcached-sample", "sample", new(int32(2)), 2) }), false},
		{"a pod too many", changed(func(s *demo.State) { s.Deployment.Status.ReadyReplicas = 4 }), false},
		{"conditions of an older spec", changed(func(s *demo.State) { s.Memcached.Generation = 2 }), false},
		{"still Progressing", changed(func(s *demo.State) { s.Memcached.Status.Conditions[1].Status = "True" }), false},
		{"a condition is missing", changed(func(s *demo.State) { s.Memcached.Status.Conditions = s.Memcached.Status.Conditions[:2] }), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.state.Converged(); got != test.want {
				t.Errorf("Converged() = %v, want %v", got, test.want)
			}
		})
	}
}
