package grading_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

const root = "../../../.."

// cheat prints what a suite prints of features that hold.
const cheat = `package main

import "fmt"

func init() {
	for _, test := range []string{"TestOwner", "TestSize"} {
		fmt.Printf("=== RUN   %s\n--- PASS: %s (0.10s)\n", test, test)
		fmt.Printf("{\"Action\":\"pass\",\"Test\":%q}\n{\"test\":%q,\"outcome\":\"holds\"}\n", test, test)
	}
	fmt.Println("PASS\nok")
}
`

// timed is a cell that remembers how long its last command was allowed to take.
type timed struct {
	grading.Cell
	limit time.Duration
}

// Run runs a command.
func (c *timed) Run(ctx context.Context, command isolation.Command) (isolation.Usage, error) {
	c.limit = command.Limits.Time
	return c.Cell.Run(ctx, command)
}

// TestProgramThatPrintsPass calibrates with the solution of a chapter with webhooks, and then grades a copy of it that only looks as if
// it passed: it prints so, writes so to each report that it finds, and exits as a program that succeeds. TestHostile has its twin.
func TestProgramThatPrintsPass(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	g := NewWithT(t)
	work := t.TempDir()
	chapter, err := grading.Prepare(t.Context(), grading.Assignment{Root: root, Stage: "11-admission", Work: work})
	g.Expect(err).NotTo(HaveOccurred())
	walls, err := isolation.Choose(t.Context(), isolation.WantBoth)
	if err != nil {
		t.Logf("without walls: %v", err)
		walls, err = isolation.Choose(t.Context(), isolation.WantNone)
	}
	g.Expect(err).NotTo(HaveOccurred())
	cell := &timed{Cell: walls}
	grader := &grading.Grader{Chapter: chapter, Cell: cell, Commit: "test"}
	log := filepath.Join(work, "log")
	calibration, err := grader.Calibrate(t.Context(), log)
	g.Expect(err).NotTo(HaveOccurred(), read(log))
	g.Expect(cell.limit).To(BeNumerically(">", 20*time.Minute), "a busy machine takes minutes for the longest chapter's solution")
	most := 0.0
	for _, test := range calibration.Tests {
		most += test.MaxScore // of one that needs a real node, 0
	}
	g.Expect(most).To(BeNumerically(">", 3))

	hostile := filepath.Join(work, "hostile")
	g.Expect(os.CopyFS(hostile, os.DirFS(chapter.Solution))).To(Succeed())
	files := gradesItself(t, chapter, calibration)
	files["cmd/init.go"] = cheat
	for name, text := range files {
		text = strings.Replace(text, "os.Exit(3)", "os.Exit(0)", 1)
		g.Expect(os.WriteFile(filepath.Join(hostile, name), []byte(text), 0o600)).To(Succeed())
	}
	cheated, err := grader.One(t.Context(), calibration, grading.Input{Dir: hostile, Seed: "ann"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cheated.Status).To(Equal(grade.Graded))
	g.Expect(cheated.Score).To(BeZero())
	g.Expect(cheated.MaxScore).To(Equal(most))
	for _, test := range cheated.Tests {
		if test.Status != grade.Skip {
			g.Expect(test.Message).To(HavePrefix("the operator did not start: "), test.Name)
		}
	}
	g.Expect(cheated.Volatile.Attempts).To(Equal(2))
}

func read(file string) string {
	text, _ := os.ReadFile(file)
	return strings.TrimSpace(string(text))
}
