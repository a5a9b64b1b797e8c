package framework_test

import (
	"slices"
	"testing"

	"github.com/example/operator-testbed/e2e/framework"
)

func TestAdvice(t *testing.T) {
	for message, want := range map[string][]string{
		"It is paused: kubectl rollout resume deployment cache.":                    {"kubectl rollout resume deployment cache"},
		"Take it off with kubectl annotate memcached NAME example.com/protection-":  {"kubectl annotate memcached NAME example.com/protection-"},
		`Try "kubectl get pods", then kubectl describe pod a; nothing else helps.`:  {"kubectl get pods", "kubectl describe pod a"},
		"There was no progress within the progress deadline, and no pod shows why.": nil,
		"With mykubectl get pods, you see another cluster.":                         nil,
	} {
		if got := framework.Advice(message); !slices.Equal(got, want) {
			t.Errorf("%q advises %q, want %q", message, got, want)
		}
	}
}
