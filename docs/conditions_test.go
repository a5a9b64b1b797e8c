package docs_test

import (
	"fmt"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestConditionsPage compares the table of reasons with the API's.
func TestConditionsPage(t *testing.T) {
	generated(t, "reference/conditions.md", "operator/api/v1alpha1/conditions.go", conditionsTable(cachev1alpha1.ConditionReasons()))
}

// conditionsTable is the table in Markdown, with an empty line before and after it.
func conditionsTable(reasons []cachev1alpha1.ConditionReason) string {
	var b strings.Builder
	b.WriteString("\n| type | status | reason | when |\n|---|---|---|---|\n")
	for _, r := range reasons {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", r.Type, r.Status, r.Reason, strings.ReplaceAll(r.When, "|", `\|`))
	}
	b.WriteString("\n")
	return b.String()
}

func TestConditionsTable(t *testing.T) {
	const want = "\n| type | status | reason | when |\n|---|---|---|---|\n| Available | True | `Enough` | one \\| more |\n\n"
	got := conditionsTable([]cachev1alpha1.ConditionReason{{Type: "Available", Status: "True", Reason: "Enough", When: "one | more"}})
	if got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
}
