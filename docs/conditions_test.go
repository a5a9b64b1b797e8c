package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write what is generated of the documentation")

// The table is between these lines.
const (
	tableBegins = "<!-- The table is generated from operator/api/v1alpha1/conditions.go: go test ./docs -update -->\n"
	tableEnds   = "<!-- The end of the table. -->\n"
)

// TestConditionsPage compares the table of reasons with the API's.
func TestConditionsPage(t *testing.T) {
	const page = "reference/conditions.md"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), tableBegins)
	table, after, ends := strings.Cut(rest, tableEnds)
	if !found || !ends {
		t.Fatalf("docs/%s has no place for the table: it needs these two lines\n%s%s", page, tableBegins, tableEnds)
	}
	want := conditionsTable(cachev1alpha1.ConditionReasons())
	if *update {
		if err := os.WriteFile(page, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table in docs/%s is not the one of operator/api/v1alpha1/conditions.go: write it with go test ./docs -update; it should be\n%s", page, want)
	}
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
