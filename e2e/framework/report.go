package framework

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/example/operator-testbed/e2e/framework/report"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/e2e/tier/summary"
)

// Outcome is what became of a feature.
type Outcome = report.Outcome

// Result is a line of the report: the outcome of one feature.
type Result = report.Result

// The outcomes, and the features of the line of a suite that can't start: see package report.
const (
	Holds        = report.Holds
	DoesNotHold  = report.DoesNotHold
	DoesNotApply = report.DoesNotApply
	NotTried     = report.NotTried

	StartOfCluster  = report.StartOfCluster
	StartOfOperator = report.StartOfOperator
)

// result is what is known so far of a feature. A step's goroutines and subtests share it.
type result struct {
	began time.Time // zero before the first step

	mu   sync.Mutex
	line Result // without an outcome as long as nothing has failed or was skipped
}

// report returns the result of a feature, of which it writes a line to the report when the test is done.
func (s *Suite) report(t *testing.T, feature types.Feature) *result {
	r := &result{line: Result{Suite: s.options.Name, Feature: feature.Name(), Test: t.Name(), Labels: map[string]string{}, Seed: s.seed}}
	for key, values := range feature.Labels() {
		r.line.Labels[key] = strings.Join(values, ",")
	}
	t.Cleanup(func() {
		if err := r.writeTo(s.reports, t.Failed()); err != nil {
			t.Errorf("write the report that $%s names: %v", reportVariable, err)
		}
		if r.line.Outcome == Holds {
			tier.Proves(t, summary.Feature, 1)
		}
	})
	return r
}

// note notes that a step has failed or was skipped, and why. The first failure counts or, without one, the first skip.
func (r *result) note(outcome Outcome, step, text string) {
	if r == nil { // a scope outside of a feature
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.line.Outcome == DoesNotHold || r.line.Outcome != "" && outcome != DoesNotHold {
		return
	}
	r.line.Outcome, r.line.Step, r.line.Message, r.line.Reason = outcome, step, "", text
	if outcome == DoesNotHold {
		r.line.Message, r.line.Reason = text, ""
		r.line.Expected, r.line.Seen = halves(text)
	}
}

// writeTo writes the line.
func (r *result) writeTo(reports *reporter, failed bool) error {
	tried := !r.began.IsZero()
	if tried {
		r.line.Took = time.Since(r.began).Round(time.Millisecond).String()
	}
	switch {
	case !failed && !tried && r.line.Outcome == "": // left out
		return nil
	case failed && tried:
		r.note(DoesNotHold, "", "")
	case failed:
		r.note(NotTried, "", "the test failed before the feature's first step; its output says why")
	default:
		r.note(Holds, "", "")
	}
	r.line.Failed = failed
	return reports.write(r.line)
}

// kept notes where the evidence of a failure is, and what of it says most.
func (r *result) kept(directory string, clues []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line.Artifacts, r.line.Clues = directory, clues
}

// reportStart writes the line of a suite that can't start: the cluster has not started, or if it has, the operator.
func (s *Suite) reportStart(err error) error {
	line := Result{Suite: s.options.Name, Feature: StartOfCluster, Outcome: NotTried, Reason: err.Error(), Failed: true, Seed: s.seed}
	if s.config != nil {
		line.Feature, line.Outcome, line.Reason, line.Message = StartOfOperator, DoesNotHold, "", err.Error()
	}
	return s.reports.write(line)
}

var (
	// sentence is the form of this package's messages, in which suites write theirs.
	sentence = regexp.MustCompile(`(?s)\bexpected (.+?)[;,] (?:last seen|got)(?: twice)?:?\s+(.+)$`)
	// comparison is the form of gomega's messages.
	comparison = regexp.MustCompile(`(?s)\bExpected\n(    .+?)\n((?:not )?to .+)$`)
	// gaveUp is how a message ends of an assertion that has waited.
	gaveUp = regexp.MustCompile(` \((?:gave up after|stopped:) [^()]*\)$`)
)

// halves returns what a message says was expected and what was seen; both are empty for a message in another form. They are for people
// who read no subject before them and don't know gomega: they name the object, and give values without their Go types.
func halves(message string) (expected, seen string) {
	message = gaveUp.ReplaceAllString(message, "")
	if match := sentence.FindStringSubmatchIndex(message); match != nil {
		expected, seen = message[match[2]:match[3]], message[match[4]:match[5]]
		if predicate, isAboutIt := strings.CutPrefix(expected, "it "); isAboutIt {
			if about := subject.FindStringSubmatch(message[:match[0]]); about != nil {
				expected = "the " + about[1] + " " + predicate
			}
		}
		return expected, seen
	}
	if match := comparison.FindStringSubmatch(message); match != nil {
		seen, expected = withoutTypes(match[1]), withoutTypes(match[2])
		if before, value, found := strings.Cut(match[2], "\n"); found && seen == withoutTypes(value) { // they differ in nothing else
			expected, seen = onOneLine(before+"\n"+value), strings.TrimSpace(match[1])
		}
		if of := field.FindStringSubmatch(message); of != nil {
			expected = of[1] + " " + expected
		}
		return expected, seen
	}
	return "", ""
}

var (
	// subject is what a message is about, before the sentence.
	subject = regexp.MustCompile(`(?:^|\n)(?:the )?([^\n:]+): $`)
	// field is how gomega begins a message about a field of an object.
	field = regexp.MustCompile(`Value for field '([^']+)' failed to satisfy matcher\.\nExpected\n`)
	// goType is how gomega begins a value: with its type and, for some, where it is and how long.
	goType = regexp.MustCompile(`<[\w.*\[\]{}/ ]+(?: \| [^<>]*)?>: ?`)
)

// withoutTypes returns values as gomega prints them, without their types.
func withoutTypes(text string) string { return onOneLine(goType.ReplaceAllString(text, "")) }

// onOneLine moves a value that has one line next to the words before it.
func onOneLine(text string) string {
	text = strings.TrimSpace(text)
	if before, value, found := strings.Cut(text, "\n    "); found && !strings.Contains(value, "\n") && !strings.HasPrefix(value, " ") {
		return before + " " + value
	}
	return text
}

// Fatalf fails and stops the test of the current step, and records the message for the report. Write messages as "expected %s; last seen:
// %s", which the report splits into its two parts.
func (s *Scope) Fatalf(format string, args ...any) {
	s.Helper()
	s.result.note(DoesNotHold, s.step, strings.TrimSpace(fmt.Sprintf(format, args...)))
	s.T.Fatalf(format, args...)
}

// Fatal is [Scope.Fatalf] with the arguments in their default formats, and spaces between them.
func (s *Scope) Fatal(args ...any) {
	s.Helper()
	s.Fatalf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

// Errorf marks the test of the current step as failed, without stopping it, and records the message for the report, as [Scope.Fatalf] does.
func (s *Scope) Errorf(format string, args ...any) {
	s.Helper()
	s.result.note(DoesNotHold, s.step, strings.TrimSpace(fmt.Sprintf(format, args...)))
	s.T.Errorf(format, args...)
}

// Error is [Scope.Errorf] with the arguments in their default formats, and spaces between them.
func (s *Scope) Error(args ...any) {
	s.Helper()
	s.Errorf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

// Skipf skips the test of the current step because it can't be tried on this cluster. The outcome in the report is [NotTried], with the
// message as the reason.
func (s *Scope) Skipf(format string, args ...any) {
	s.Helper()
	s.result.note(NotTried, s.step, fmt.Sprintf(format, args...))
	s.T.Skipf(format, args...)
}

// Skip is [Scope.Skipf] with the arguments in their default formats, and spaces between them.
func (s *Scope) Skip(args ...any) {
	s.Helper()
	s.Skipf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

// Remark records a remark about a feature that holds, as its reason in the report.
func (s *Scope) Remark(text string) { s.result.note(Holds, s.step, text) }

// DoesNotApply skips the test of the current step because the operator lacks the feature that the step tests. The outcome in the report is
// [DoesNotApply], with the reason.
func (s *Scope) DoesNotApply(reason string) {
	s.Helper()
	s.result.note(DoesNotApply, s.step, reason)
	s.T.Skip(reason)
}
