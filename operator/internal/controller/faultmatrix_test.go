package controller

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var updateMatrix = flag.Bool("explorer.update", false, "write the matrix of faults in docs/reference/faults.md")

const (
	matrixPage  = "../../../docs/reference/faults.md"
	matrixStart = "<!-- The matrix is generated: go test ./operator/internal/controller -run TestFaultMatrix -explorer.update -->\n"
	matrixEnd   = "<!-- The end of the matrix. -->\n"
)

// TestFaultMatrix compares the matrix in the documentation with what TestFaultExplorer tries.
func TestFaultMatrix(t *testing.T) {
	content, err := os.ReadFile(matrixPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), matrixStart)
	current, after, closed := strings.Cut(rest, matrixEnd)
	if !found || !closed {
		t.Fatalf("%s has no place for the matrix: it needs these two lines\n%s%s", matrixPage, matrixStart, matrixEnd)
	}
	matrix := faultMatrix(t)
	if *updateMatrix {
		if err := os.WriteFile(matrixPage, []byte(before+matrixStart+matrix+matrixEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if current != matrix {
		t.Errorf("the matrix in docs/reference/faults.md is not what the explorer tries: write it with "+
			"go test ./operator/internal/controller -run TestFaultMatrix -explorer.update; it should be\n%s", matrix)
	}
}

// faultMatrix returns a table of how many times each fault happens to each kind of call, over all scenarios.
func faultMatrix(t *testing.T) string {
	t.Helper()
	kinds := []fault{crashBefore, crashAfter, lostReply, serverError, serverErrors, lasting, conflict, staleRead}
	tried := map[string]map[fault]int{}
	total := 0
	for name := range scenarios {
		for _, c := range runScenario(t, name, nil, nil).calls {
			if tried[c.name] == nil {
				tried[c.name] = map[fault]int{}
			}
			for _, kind := range c.faults() {
				tried[c.name][kind]++
				total++
			}
		}
	}
	var b strings.Builder
	b.WriteString("\n| call |")
	for _, kind := range kinds {
		fmt.Fprintf(&b, " %s |", kind)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(kinds)) + "\n")
	for _, call := range slices.Sorted(maps.Keys(tried)) {
		fmt.Fprintf(&b, "| %s |", call)
		for _, kind := range kinds {
			if count := tried[call][kind]; count > 0 {
				fmt.Fprintf(&b, " %d |", count)
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d runs with one fault each.\n\n", total)
	return b.String()
}
