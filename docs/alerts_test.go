package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAlertsTable compares the table of alerts with the operator's manifests.
func TestAlertsTable(t *testing.T) {
	var manifest struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert       string
					For         string
					Labels      struct{ Severity string }
					Annotations struct{ Summary string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "operator/config/prometheus/alerts.yaml")), &manifest); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n| alert | severity | after | says |\n|---|---|---|---|\n")
	for _, group := range manifest.Spec.Groups {
		for _, rule := range group.Rules {
			says := strings.NewReplacer("{{ $labels.namespace }}", "NAMESPACE", "{{ $labels.name }}", "NAME").Replace(rule.Annotations.Summary)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", rule.Alert, rule.Labels.Severity, rule.For, says)
		}
	}
	b.WriteString("\n")
	generated(t, "reference/metrics.md", "the operator's manifests", b.String())
}
