package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/tier"
)

// scaffold is an operator that kubebuilder generates when the test runs.
type scaffold struct {
	// options are those of scripts/scaffold.
	options []string
	// flag and file are the argument of testbed conformance that says what its API is. The file is in the generated project unless
	// it starts with a dot.
	flag, file string
}

// scaffolds are what the tables in docs/conformance-examples.md are about, by the names in the comments above those.
var scaffolds = map[string]scaffold{
	"Memcached": {flag: "--mapping", file: "./e2e/conformance/mappings/kubebuilder.yaml"},
	"Busybox":   {options: []string{"--webhooks"}, flag: "--sample", file: "config/samples/cache_v1alpha1_busybox.yaml"},
}

// unsteady are claims whose outcome depends on timing, as docs/conformance-examples.md says.
var unsteady = []string{"no write is in conflict", "at most 4 writes take a new one from size 3 to 5"}

// TestScaffolds generates operators with kubebuilder, and compares what `testbed conformance` says of them with docs/conformance-examples.md.
// Their clusters are embedded ones.
func TestScaffolds(t *testing.T) {
	tier.Nightly(t)
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "conformance-examples.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range scaffolds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, work := NewWithT(t), t.TempDir()
			bed := bed{t: t, root: root, state: filepath.Join(work, "state")}
			t.Cleanup(func() { leftover.None(t, bed.state) })
			project := filepath.Join(work, "project")
			bed.output("scripts/scaffold", append(s.options, project)...)
			file := s.file
			if !strings.HasPrefix(file, ".") {
				file = filepath.Join(project, file)
			}
			command := bed.command("testbed", "conformance", "--markdown", "--operator", filepath.Join(project, "bin", "manager"),
				"--manifests", filepath.Join(project, "config", "default"), s.flag, file)
			var stderr bytes.Buffer
			command.Stderr = &stderr
			out, err := command.Output()
			var exit *exec.ExitError
			g.Expect(errors.As(err, &exit)).To(BeTrue(), "not every point holds: %v", err)
			_, table, _ := strings.Cut(string(page), "<!-- "+name+": printed by make conformance. -->")
			table, _, _ = strings.Cut(table, "<!-- The end of the table. -->")
			want, got := outcomes(table), outcomes(string(out))
			g.Expect(got).NotTo(BeEmpty(), "%s", &stderr)
			for _, claim := range unsteady {
				delete(got, claim)
				delete(want, claim)
			}
			g.Expect(got).To(Equal(want))
		})
	}
}

// outcomes returns what a table says of each claim.
func outcomes(page string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if outcome, ok := strings.CutSuffix(cells[len(cells)-1], " |"); ok && len(cells) == 3 {
			found[cells[1]] = outcome
		}
	}
	maps.DeleteFunc(found, func(claim, _ string) bool { return claim == "claim" })
	return found
}
