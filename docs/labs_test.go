package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestLabsTable compares the table of break-it labs on the page for teachers with tutorial/labs.yaml.
func TestLabsTable(t *testing.T) {
	var labs []struct {
		Name    string `json:"name"`
		Chapter string `json:"chapter"`
		Point   string `json:"point"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "tutorial/labs.yaml")), &labs); err != nil || len(labs) < 20 {
		t.Fatalf("read %d labs of tutorial/labs.yaml: %v", len(labs), err)
	}
	var table strings.Builder
	table.WriteString("| lab | chapter | what learners take away |\n|---|---|---|\n")
	for _, lab := range labs {
		fmt.Fprintf(&table, "| %s | [%s](../tutorial/%s/README.md) | %s |\n", lab.Name, shortName(lab.Chapter), lab.Chapter, lab.Point)
	}
	generated(t, "teaching.md", "tutorial/labs.yaml", table.String())
}
