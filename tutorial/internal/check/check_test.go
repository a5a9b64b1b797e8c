package check_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/tutorial/internal/check"
)

// suiteVariable is set where this executable is the suite: to lines of its report, and then what it does.
const suiteVariable = "CHECK_TEST_SUITE"

func TestMain(m *testing.M) {
	if script := os.Getenv(suiteVariable); script != "" {
		os.Exit(suite(script))
	}
	os.Exit(reaper.Run(m))
}

// suite appends the lines to its report, and returns what it exits with: 1 by default.
func suite(script string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	fmt.Println("run with", os.Args[1:])
	file, err := os.OpenFile(os.Getenv("TESTBED_REPORT"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 3
	}
	for line := range strings.Lines(script) {
		switch strings.TrimSpace(line) {
		case "pass":
			return 0
		case "wait":
			<-stop
			continue
		}
		if _, err := file.WriteString(line); err != nil {
			return 3
		}
	}
	return 1
}

const (
	one   = `{"test":"TestOne","feature":"one","outcome":"holds"}` + "\n"
	two   = `{"test":"TestTwo","feature":"two","outcome":"does not hold","failed":true,"expected":"red","seen":"blue"}` + "\n"
	three = `{"test":"TestThree","feature":"three","outcome":"not tried","reason":"no kubelet"}` + "\n"
)

// run runs a suite of three features that does what the script says.
func run(ctx context.Context, t *testing.T, script, only string, done func(framework.Result)) ([]framework.Result, string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	results, err := check.Run(ctx, check.Input{
		Suite: self, Dir: t.TempDir(), Features: []string{"TestOne", "TestThree", "TestTwo"}, Only: only,
		Args: []string{"-test.parallel=6"}, Env: []string{suiteVariable + "=" + script}, Log: &log, Done: done,
	})
	return results, log.String(), err
}

// Features are reported one by one, and returned by name, with a score that leaves out what can't be tried.
func TestRun(t *testing.T) {
	g := NewWithT(t)
	var order []string
	results, log, err := run(t.Context(), t, two+one+three, "", func(r framework.Result) { order = append(order, r.Test) })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(order).To(Equal([]string{"TestTwo", "TestOne", "TestThree"}))
	g.Expect(log).To(Equal("run with [-test.run= -test.parallel=6]\n"))
	g.Expect(results).To(HaveExactElements(
		HaveField("Test", "TestOne"), HaveField("Reason", "no kubelet"), And(HaveField("Expected", "red"), HaveField("Seen", "blue"))))
	score := check.ScoreOf(results)
	g.Expect(score).To(Equal(check.Score{Held: 1, Of: 2, First: "TestTwo"}))
	g.Expect(score.String()).To(Equal("1 of 2 features hold"))
	g.Expect(score.Full()).To(BeFalse())

	results, _, err = run(t.Context(), t, one+three+"pass", "TestOne|TestThree", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(check.ScoreOf(results)).To(Equal(check.Score{Held: 1, Of: 1}))
	g.Expect(check.ScoreOf(results).Full()).To(BeTrue())
}

// Nothing counts as holding that has no result.
func TestRunWithoutResults(t *testing.T) {
	for name, test := range map[string]struct {
		script, only string
		score        check.Score
		reason       string // of the features that have no line
		err          string
	}{
		"the operator does not start": {
			script: `{"feature":"the operator starts","outcome":"does not hold","message":"exit code 2"}` + "\n",
			score:  check.Score{Of: 3, First: "TestOne"}, reason: "the operator does not start: exit code 2",
		},
		"the cluster does not start": {
			script: `{"feature":"the cluster starts","outcome":"not tried","reason":"no disk"}` + "\n",
			err:    "the cluster does not start: no disk",
		},
		"the suite panics": {
			script: one, score: check.Score{Held: 1, Of: 3, First: "TestThree"}, reason: "the suite stopped before it (exit status 1)",
		},
		"the suite forgets a feature":      {script: one + three + "pass", err: "no result for TestTwo"},
		"the suite fails for no feature":   {script: one, only: "TestOne", err: "the suite failed, although each of its features holds"},
		"the suite reports twice":          {script: two + strings.Replace(two, "does not hold", "holds", 1) + "wait", err: "it has more than one result for TestTwo"},
		"the suite writes nonsense":        {script: "red\nwait", err: "read the suite's report: "},
		"nothing is chosen":                {script: "pass", only: "TestFour", err: "ONLY=TestFour matches none of the features: use one of TestOne, TestThree, TestTwo"},
		"the choice can't be read":         {script: "pass", only: "Test[", err: "ONLY=Test[ is not a regular expression"},
		"the feature that was chosen runs": {script: two, only: "TestTwo", score: check.Score{Of: 1, First: "TestTwo"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			results, _, err := run(t.Context(), t, test.script, test.only, nil)
			if test.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(check.ScoreOf(results)).To(Equal(test.score))
			for _, r := range results {
				if r.Feature == "" {
					g.Expect(r).To(Equal(framework.Result{Test: r.Test, Outcome: framework.NotTried, Reason: test.reason, Failed: true}))
				}
			}
		})
	}
}

// A check that is canceled has the suite take its cluster down, and returns why it was canceled.
func TestRunIsCanceled(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("a file has changed")
	var seen []string
	_, _, err := run(ctx, t, one+"wait\n"+two, "", func(r framework.Result) {
		seen = append(seen, r.Test)
		cancel(why)
	})
	g.Expect(err).To(MatchError(why))
	g.Expect(seen).To(Equal([]string{"TestOne"}), "a feature that was interrupted says nothing")
}

func TestRunNeedsASuite(t *testing.T) {
	g := NewWithT(t)
	_, err := check.Run(t.Context(), check.Input{
		Suite: filepath.Join(t.TempDir(), "none"), Features: []string{"TestOne"}, Log: io.Discard,
	})
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

func TestFeatures(t *testing.T) {
	g := NewWithT(t)
	names, err := check.Features(filepath.Join("..", "..", "04-status", "test", "e2e"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names).To(And(ContainElements("TestAvailable", "TestSize"), Not(ContainElement("TestMain"))))
	g.Expect(slices.IsSorted(names)).To(BeTrue())
	_, err = check.Features(t.TempDir())
	g.Expect(err).To(MatchError(HavePrefix("there is no feature in ")))
}
