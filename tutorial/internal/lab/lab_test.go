package lab_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/lab"
)

const root = "../../.."

func TestStartRefuses(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	for _, stage := range []string{"", "99-nothing", "03-api"} {
		err := lab.Start(t.Context(), root, stage, dir, &bytes.Buffer{})
		g.Expect(err).To(MatchError(HavePrefix("there is no code to begin STAGE=" + stage + " with: use one of 02-informer-queue, ")))
	}
	g.Expect(dir).NotTo(BeAnExistingFile())
	g.Expect(lab.Check(t.Context(), root, t.TempDir(), &bytes.Buffer{})).To(MatchError(ContainSubstring("was not made by make start")))
}

func TestStartTellsTheGoal(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	var out bytes.Buffer
	g.Expect(lab.Start(t.Context(), root, "04-controller", dir, &out)).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("Your goal: write a controller"), ContainSubstring("  cmd/\n"), ContainSubstring("make check DIR="+dir)))
	g.Expect(lab.Check(t.Context(), root, dir, &bytes.Buffer{})).To(MatchError(ContainSubstring("has no folder cmd yet")))
	g.Expect(lab.Start(t.Context(), root, "04-controller", dir, &out)).To(MatchError(ContainSubstring("name a folder that is new or empty")))
}

// What a chapter begins with does not pass its suite, and what it ends with does.
func TestCheck(t *testing.T) {
	if os.Getenv("CLUSTER") != "embedded" {
		t.Skip("this test brings clusters up: run it with make test, or CLUSTER=embedded")
	}
	const stage = "05-status"
	t.Run("at the beginning", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		dir := filepath.Join(t.TempDir(), "mine")
		var out bytes.Buffer
		g.Expect(lab.Start(t.Context(), root, stage, dir, &out)).To(Succeed())
		g.Expect(lab.Check(t.Context(), root, dir, &out)).To(MatchError(HavePrefix("not yet")))
		g.Expect(out.String()).To(ContainSubstring("expected Available=True"))
	})
	t.Run("at the end", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		dir := filepath.Join(t.TempDir(), "mine")
		var out bytes.Buffer
		g.Expect(lab.Solution(t.Context(), root, stage, dir, &out)).To(Succeed())
		g.Expect(lab.Check(t.Context(), root, dir, &out)).To(Succeed(), out.String())
	})
}
