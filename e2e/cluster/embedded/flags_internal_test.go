package embedded

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func TestEnvironmentLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	got := environment([]string{"PATH=/bin", "https_proxy=http://proxy", "HTTP_PROXY=x", "ALL_PROXY=x", "KUBECONFIG=/theirs", "KUBERNETES_SERVICE_HOST=10.0.0.1", "EMPTY="})
	if strings.Join(got, " ") != "PATH=/bin EMPTY=" {
		t.Errorf("expected PATH and EMPTY to be left, got %q", got)
	}
}

// On a machine that starves kwok for a while, a node must not fail.
func TestNodesSurviveLateHeartbeats(t *testing.T) {
	t.Parallel()
	var longest time.Duration
	for document := range bytes.SplitSeq(nodeStages, []byte("---\n")) {
		var stage struct {
			Spec struct {
				Delay struct{ JitterDurationMilliseconds int }
			}
		}
		if err := yaml.Unmarshal(document, &stage); err != nil {
			t.Fatal(err)
		}
		// The jitter is the longest delay, not what is added.
		longest = max(longest, time.Duration(stage.Spec.Delay.JitterDurationMilliseconds)*time.Millisecond)
	}
	if longest == 0 || nodeMonitorGracePeriod < 10*longest {
		t.Errorf("expected a node to outlive ten heartbeats; last seen: one every %v at most, and %v of grace", longest, nodeMonitorGracePeriod)
	}
}
