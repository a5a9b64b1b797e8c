package grading_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
)

// TestJudge: the right manifests are not refused, whatever sort of chapter or lab they are of.
func TestJudge(t *testing.T) {
	g := NewWithT(t)
	for _, a := range []grading.Assignment{{Stage: "01-custom-resource"}, {Stage: "19-finished"}, {Stage: "03-controller", Lab: "no-answer"}} {
		a.Root, a.Work = root, t.TempDir()
		copied := filepath.Join(t.TempDir(), "copy")
		g.Expect(exercises.Solution(t.Context(), root, a.Stage, copied, io.Discard)).To(Succeed())
		g.Expect(grading.Judge(t.Context(), a, copied)).To(Succeed(), "%+v", a)
		g.Expect(os.RemoveAll(filepath.Join(copied, "config"))).To(Succeed())
		a.Work = t.TempDir()
		refused := Succeed()
		if a.Stage != "01-custom-resource" { // which runs nothing
			refused = MatchError("there is no directory config/default, which installs the operator")
		}
		g.Expect(grading.Judge(t.Context(), a, copied)).To(refused, "%+v", a)
	}
}
