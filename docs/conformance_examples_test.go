package docs_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// examples is the directory of the operators of other projects that docs/conformance-examples.md is about, and exampleNames are their
// names in its table.
const examples = "e2e/conformance/examples"

var exampleNames = map[string]string{"agent-sandbox": "agent-sandbox", "kubebuilder": "kubebuilder", "operator-sdk": "Operator SDK", "sealed-secrets": "sealed-secrets"}

// TestConformanceExamples compares the table of points that do not hold with what each operator's conformance.yaml lists. That nothing else
// does not hold is what scripts/example checks.
func TestConformanceExamples(t *testing.T) {
	files := glob(t, examples+"/*/conformance.yaml")
	if len(files) != len(exampleNames) {
		t.Fatalf("found %q, expected %d operators", files, len(exampleNames))
	}
	var heads []string
	cells := map[string]map[string]string{} // by point and operator
	for _, file := range files {
		var config struct {
			Known []struct {
				Point        string `json:"point"`
				Intermittent bool   `json:"intermittent"`
			} `json:"known"`
		}
		if err := yaml.Unmarshal([]byte(read(t, file)), &config); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := path.Base(path.Dir(file))
		heads = append(heads, fmt.Sprintf("[%s](../%s)", exampleNames[name], file))
		for _, known := range config.Known {
			if cells[known.Point] == nil {
				cells[known.Point] = map[string]string{}
			}
			cells[known.Point][file] = map[bool]string{false: "does not hold", true: "sometimes"}[known.Intermittent]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| point | %s |\n|---|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	claims := samplePoints(t)
	for _, claim := range claims {
		row := cells[claim]
		if row == nil {
			continue
		}
		fmt.Fprintf(&b, "| %s |", claim)
		for _, file := range files {
			fmt.Fprintf(&b, " %s |", row[file])
		}
		b.WriteString("\n")
	}
	for claim := range cells {
		if !slices.Contains(claims, claim) {
			t.Errorf("the point %q is known not to hold, but docs/reference/conformance.md has no such point", claim)
		}
	}
	b.WriteString("\n")
	generated(t, "conformance-examples.md", examples+"/*/conformance.yaml", b.String())
}

// TestConformanceExamplesVersions requires that the page names the version of each operator that is pinned beside its conformance.yaml.
func TestConformanceExamplesVersions(t *testing.T) {
	for _, file := range glob(t, examples+"/*/go.mod") {
		for _, r := range deliberate(t, file) {
			if !strings.Contains(read(t, "docs/conformance-examples.md"), ") "+r.Version+",") {
				t.Errorf("%s requires %s %s: name this version in docs/conformance-examples.md", file, r.Path, r.Version)
			}
		}
	}
}

// samplePoints returns the claims about the operator of any custom resource, in their order in docs/reference/conformance.md.
func samplePoints(t *testing.T) (claims []string) {
	t.Helper()
	_, table, found := strings.Cut(read(t, "docs/reference/conformance.md"), "| point | claim | outcome |\n|---|---|---|\n")
	if !found {
		t.Fatal("docs/reference/conformance.md has no table of points")
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			return claims
		}
		claims = append(claims, cells[1])
	}
	return claims
}
