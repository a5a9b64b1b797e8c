package grading_test

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// hidden is a teacher's test of two features: the operator has the first one only.
const hidden = `package extra

import (
	"context"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/example/operator-testbed/e2e/framework"
)

var stage = framework.New(framework.Options{
	Name: "hidden", CRDs: []string{"../../config/crd/bases"}, Package: "../../cmd", Kustomization: "../../config/default",
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

func TestHiddenQuiet(t *testing.T) {
	stage.Feature("creates nothing unasked").Assess("no Deployment", func(ctx context.Context, s *framework.Scope) {
		framework.WaitForNone(ctx, s, &appsv1.DeploymentList{})
	}).Test(t)
}
`

// TestProof grades, behind both walls, what students who begin with a chapter have, with a teacher's own test, and those with a fault in
// their operator: see make class-proof.
func TestProof(t *testing.T) {
	tier.Nightly(t)
	walls, err := isolation.Choose(t.Context(), isolation.WantBoth)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := exercises.Faults(root)
	if err != nil {
		t.Fatal(err)
	}
	for stage := range strings.SplitSeq(cmp.Or(os.Getenv("CLASS_PROOF_STAGES"), "03-controller 04-status"), " ") {
		t.Run(stage, func(t *testing.T) {
			g := NewWithT(t)
			work := t.TempDir()
			extra := filepath.Join(work, "extra")
			g.Expect(os.Mkdir(extra, 0o755)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(extra, "hidden_test.go"), []byte(hidden), 0o600)).To(Succeed())
			chapter, err := grading.Prepare(t.Context(), grading.Assignment{Root: root, Stage: stage, Extra: extra, Work: work})
			g.Expect(err).NotTo(HaveOccurred())
			grader := &grading.Grader{Chapter: chapter, Cell: walls, Commit: "test"}
			log := filepath.Join(work, "log")
			calibration, err := grader.Calibrate(t.Context(), log)
			g.Expect(err).NotTo(HaveOccurred(), read(log))
			g.Expect(calibration.Tests[len(calibration.Tests)-1]).To(And(HaveField("Name", "TestHiddenQuiet"), HaveField("Extra", true)))

			less := func(name, dir string) {
				r, err := grader.One(t.Context(), calibration, grading.Input{Dir: dir, Seed: name, Log: filepath.Join(work, name+".log")})
				g.Expect(err).NotTo(HaveOccurred(), name)
				t.Logf("%s: %s %v of %v %s", name, r.Status, r.Score, r.MaxScore, r.Message)
				g.Expect(r.Status).To(Equal(grade.Graded), name)
				g.Expect(r.MaxScore).To(BeEquivalentTo(len(calibration.Tests)), name)
				g.Expect(r.Score).To(BeNumerically("<", r.MaxScore), name)
			}
			begun := filepath.Join(work, "begun")
			g.Expect(exercises.Start(t.Context(), root, stage, begun, io.Discard)).To(Succeed())
			less("begun", begun)
			for _, fault := range faults {
				if fault.Chapter == stage {
					dir := filepath.Join(work, fault.Name)
					g.Expect(exercises.Break(t.Context(), root, fault.Name, dir, io.Discard)).To(Succeed())
					less(fault.Name, dir)
				}
			}
		})
	}
}
