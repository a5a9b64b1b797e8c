package main

import (
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/kind/home"
)

// The error about an operator that exits early names its log, which outlives the cluster. Nothing else is left.
func TestConformanceOfAnOperatorThatExits(t *testing.T) {
	tier.All(t)
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t)
	temporary := t.TempDir()
	command := b.command("testbed", "conformance", "--operator=/bin/true", "--unconfined")
	command.Env = append(command.Env, "TESTBED_ARTIFACTS=", home.TemporaryVariable+"=", "TMPDIR="+temporary)
	out, err := command.CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	match := regexp.MustCompile(`exited before it was ready: it printed nothing \(log: ([^)]+)\)`).FindSubmatch(out)
	g.Expect(match).NotTo(BeNil(), "%s", out)
	g.Expect(string(match[1])).To(HavePrefix(temporary+"/testbed-artifacts-"), "%s", out)
	g.Expect(string(match[1])).To(BeAnExistingFile(), "%s", out)
	entries, err := os.ReadDir(temporary)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(1))
}
