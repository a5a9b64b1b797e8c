package main

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestRun has a row for each row of the table in the chapter's text.
func TestRun(t *testing.T) {
	condition := func(conditionType, status string) string {
		return fmt.Sprintf(`"conditions": [{"type": %q, "status": %q, "message": "why", "observedGeneration": 1}]`, conditionType, status)
	}
	for name, test := range map[string]struct{ metadata, status, want string }{
		"being deleted":             {`"deletionTimestamp": "2026-01-01T00:00:00Z"`, "", "Terminating: Resource scheduled for deletion\n"},
		"an old observedGeneration": {`"generation": 2`, `"observedGeneration": 1, ` + condition("Ready", "True"), "InProgress: Memcached generation is 2, but latest observed generation is 1\n"},
		"Reconciling":               {`"generation": 1`, condition("Reconciling", "True"), "InProgress: why\n"},
		"Stalled":                   {`"generation": 1`, condition("Stalled", "True"), "Failed: why\n"},
		"Ready":                     {`"generation": 1`, `"observedGeneration": 1, ` + condition("Ready", "True"), "Current: Resource is Ready\n"},
		"not Ready":                 {`"generation": 1`, condition("Ready", "False"), "InProgress: why\n"},
		"not known whether Ready":   {`"generation": 1`, condition("Ready", "Unknown"), "InProgress: why\n"},
		"not Available":             {`"generation": 1`, condition("Available", "False"), "Current: Resource is current\n"},
		"Ready for an earlier spec": {`"generation": 2`, condition("Ready", "True"), "Current: Resource is Ready\n"},
		"no status":                 {`"generation": 1`, "", "Current: Resource is current\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := fmt.Sprintf(`{"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "metadata": {%s}, "status": {%s}}`, test.metadata, test.status)
			var out strings.Builder
			g.Expect(run(strings.NewReader(object), &out)).To(Succeed())
			g.Expect(out.String()).To(Equal(test.want))
		})
	}
}

func TestRunRefusesWhatIsNoObject(t *testing.T) {
	NewWithT(t).Expect(run(strings.NewReader("NAME\n"), &strings.Builder{})).To(MatchError(HavePrefix("read the object: want the output of kubectl get -o json: ")))
}
