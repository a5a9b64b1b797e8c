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

// unsteady are claims whose outcome depends on timing, as docs/conformance-examples.md says.
var unsteady = []string{"no write is in conflict", "at most 4 writes take a new one from size 3 to 5"}

// TestScaffolds generates a Memcached operator with kubebuilder, and compares what `testbed conformance` says of it with
// docs/conformance-examples.md. Its cluster is an embedded one.
func TestScaffolds(t *testing.T) {
	tier.Nightly(t)
	g, work := NewWithT(t), t.TempDir()
	root, err := cluster.Root(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(root, "docs", "conformance-examples.md"))
	g.Expect(err).NotTo(HaveOccurred())
	bed := bed{t: t, root: root, state: filepath.Join(work, "state")}
	t.Cleanup(func() { leftover.None(t, bed.state) })
	project := filepath.Join(work, "project")
	bed.output("scripts/scaffold", project)
	command := bed.command("testbed", "conformance", "--markdown", "--operator", filepath.Join(project, "bin", "manager"),
		"--manifests", filepath.Join(project, "config", "default"), "--mapping", "e2e/conformance/mappings/kubebuilder.yaml")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	var exit *exec.ExitError
	g.Expect(errors.As(err, &exit)).To(BeTrue(), "not every point holds: %v", err)
	_, table, _ := strings.Cut(string(page), "<!-- Memcached: printed by make conformance. -->")
	table, _, _ = strings.Cut(table, "<!-- The end of the table. -->")
	want, got := outcomes(table), outcomes(string(out))
	g.Expect(got).NotTo(BeEmpty(), "%s", &stderr)
	for _, claim := range unsteady {
		delete(got, claim)
		delete(want, claim)
	}
	g.Expect(got).To(Equal(want))
}

// TestExamples builds operators of other projects, and expects that exactly those points don't hold that their conformance.yaml lists. They
// run one after another, because some listen on a port that can't be chosen.
func TestExamples(t *testing.T) {
	tier.Nightly(t)
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadDir(filepath.Join(root, "e2e", "conformance", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		t.Run(example.Name(), func(t *testing.T) {
			bed := bed{t: t, root: root, state: filepath.Join(t.TempDir(), "state")}
			t.Cleanup(func() { leftover.None(t, bed.state) })
			command := bed.command("scripts/example", example.Name())
			command.Stdout, command.Stderr = t.Output(), t.Output() // which shows that it makes progress
			if err := command.Run(); err != nil {
				t.Errorf("%s: %v", command, err)
			}
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
