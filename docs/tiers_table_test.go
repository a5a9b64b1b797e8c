package docs_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/e2e/tier/tree"
	"github.com/example/operator-testbed/scripts/runner/plan"
	"github.com/example/operator-testbed/scripts/runner/times"
)

// TestTiersTable generates the table of tiers from the marks of the tests.
func TestTiersTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| command | what it proves, beyond the commands above it | its tests |\n|---|---|---|\n")
	for _, tier := range summary.Tiers() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", summary.Command(tier), summary.Proves(tier), map[string]string{
			"test": "all tests without a mark; a suite's run on any cluster",
			"e2e":  marked("tier.E2E(t)") + ", and the suites again on kind, for what needs a kubelet",
		}[tier]+map[string]string{"all": marked("tier.All(t)"), "nightly": marked("tier.Nightly(t)")}[tier])
	}
	generated(t, "tests.md", "e2e/tier/summary/tiers.go", table.String())
}

func marked(call string) string { return "those that begin with `" + call + "`" }

// TestMarkedTable generates the table of the tests that do not belong to make test.
func TestMarkedTable(t *testing.T) {
	names := map[string]map[string][]string{} // by directory and tier
	for _, test := range tests(t) {
		if test.Tier == "test" {
			continue
		}
		dir := test.Dir
		if test.Module != "." {
			dir = test.Module
		}
		if names[dir] == nil {
			names[dir] = map[string][]string{}
		}
		names[dir][test.Tier] = append(names[dir][test.Tier], "`"+test.Name+"`")
	}
	whole := map[string]tree.Whole{}
	for _, w := range tree.Wholes() {
		whole[w.Dir] = w
	}
	var table strings.Builder
	table.WriteString("| directory | command | tests |\n|---|---|---|\n")
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		for _, tier := range summary.Tiers() {
			list := strings.Join(names[dir][tier], ", ")
			if list == "" {
				continue
			}
			if w, found := whole[dir]; found {
				list = "all: " + w.Why
				if w.By != "" {
					list += "; run by " + w.By
				}
			}
			fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", dir, summary.Command(tier), list)
		}
	}
	generated(t, "tests.md", "the marks of tests, and e2e/tier/tree/whole.go", table.String())
}

// TestNightlyTable generates the table of the parts of make nightly.
func TestNightlyTable(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.For("nightly", plan.Request{Root: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| `PART` | what it runs |\n|---|---|\n")
	for _, part := range p.Parts {
		if !slices.Contains(p.Proving(), part.Name) {
			continue
		}
		runs := "`" + strings.Join(part.Command, " ") + "`"
		if part.Tests != nil {
			runs = "every test of `make test`, with another seed each night"
			if slices.Contains(part.Env, "CLUSTER=kind") {
				runs = "every feature, on kind: `go test " + strings.Join(part.Tests.Packages, " ") + "`"
			}
			for _, flag := range part.Tests.Flags {
				if pattern, found := strings.CutPrefix(flag, "-run="); found {
					runs = "`" + strings.ReplaceAll(strings.Trim(pattern, "^()$"), "|", "`, `") + "`"
				}
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", part.Name, strings.ReplaceAll(runs, "|", `\|`))
	}
	generated(t, "tests.md", "scripts/runner/plan/nightly.go", table.String())
}

// TestTimesTable includes what scripts/run times prints.
func TestTimesTable(t *testing.T) {
	generated(t, "tests.md", "scripts/runner/times/measured.json, which scripts/run times prints", times.Table())
	generated(t, "../README.md", "scripts/runner/times/measured.json", times.Short("make demo", "make test"))
}
