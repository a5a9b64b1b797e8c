package exercises

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// suiteThat returns a suite that reports these lines, and exits with the code.
func suiteThat(t *testing.T, code string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite")
	script := "#!/bin/sh\necho noise\ncat >>\"$TESTBED_REPORT\" <<'EOF'\n" + strings.Join(lines, "\n") + "\nEOF\nexit " + code + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// subjectOf is a copy of a chapter with three features, whose checks print to out.
func subjectOf(t *testing.T, out *strings.Builder) subject {
	t.Helper()
	t.Setenv("TESTBED_ARTIFACTS", filepath.Join(t.TempDir(), "artifacts"))
	c := chapter.Chapter{Name: "04-status", Features: map[string]chapter.Feature{
		"TestNodes": {Claim: "nodes are the ready pods", Hint: "Count the pods of make run DIR=my-operator."},
		"TestSize":  {Claim: "the size is followed", Hint: "Read the size."},
	}}
	return subject{
		CheckInput: CheckInput{Root: t.TempDir(), Dir: t.TempDir(), Out: out}, chapter: c, features: []string{"TestImage", "TestNodes", "TestSize"},
	}
}

const (
	holds   = `{"test":"TestSize","feature":"size","outcome":"holds"}`
	fails   = `{"test":"TestNodes","outcome":"does not hold","failed":true,"step":"at first","expected":"one\ntwo","seen":"none","clues":["no pods"],"artifacts":"/a"}`
	skipped = `{"test":"TestImage","feature":"an image","outcome":"not tried","reason":"no kubelet"}`
)

// checked returns what is printed of a check, with LOG in place of the name of the log, and whether there is a log.
func checked(t *testing.T, s subject, out *strings.Builder, suite string) (text string, kept bool, err error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(s.Root, s.chapter.SuiteDirectory()), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = s.check(t.Context(), suite, nil)
	logs, globErr := filepath.Glob(filepath.Join(os.Getenv("TESTBED_ARTIFACTS"), "check-04-status-*.log"))
	if globErr != nil || len(logs) > 1 {
		t.Fatal(logs, globErr)
	}
	text = out.String()
	if len(logs) == 1 {
		text = strings.ReplaceAll(text, logs[0], "LOG")
		if content, err := os.ReadFile(logs[0]); err != nil || string(content) != "noise\n" {
			t.Errorf("the log has %q, %v", content, err)
		}
	}
	return text, len(logs) == 1, err
}

// Of each feature that does not hold, a learner gets to know everything that is known.
func TestCheckPrintsWhatFails(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	s := subjectOf(t, &out)
	text, kept, err := checked(t, s, &out, suiteThat(t, "1", holds, fails, skipped))
	g.Expect(err).To(MatchError("not yet: 1 of 2 features hold"))
	g.Expect(kept).To(BeTrue())
	g.Expect(text).To(Equal(`holds           TestSize: the size is followed
does not hold   TestNodes: nodes are the ready pods
not tried       TestImage: an image

TestNodes does not hold: nodes are the ready pods
  step:      at first
  expected:  one
             two
  last seen: none
  clue:      no pods
  hint:      Count the pods of make run DIR=` + quote(s.Dir) + `.
  artifacts: /a

Not part of the score: TestImage
  because:   no kubelet

Output of the suite: LOG
`))
}

// One cause that fails several features is printed once, before them, and without hints that are about something else.
func TestCheckPrintsASharedCauseOnce(t *testing.T) {
	failure := func(test, name, expected, seen, clues string) string {
		return `{"test":"` + test + `","outcome":"does not hold","failed":true,"expected":"the Deployment ns/` + name + ` ` + expected + `","seen":"` + seen + `","clues":[` + clues + `]}`
	}
	const clue = "\nAll features that do not hold share this clue, so look for one cause:\n  clue:      pods … are forbidden\n\nTestNodes"
	const alike = "\nAll features that do not hold fail in the same way, so look for one cause: compare what was expected with what was seen.\n\nTestNodes"
	for name, test := range map[string]struct {
		lines []string
		want  string
		hints bool
	}{
		"a clue": {[]string{
			failure("TestNodes", "a-bcdfg", "to exist", "it does not", `"pods a-bcdfg are forbidden"`), failure("TestSize", "b-xzwvt", "of 2", "1", `"other","pods b-xzwvt are forbidden"`),
		}, clue, false},
		"one message": {[]string{failure("TestNodes", "a-bcdfg", "with 2 pods", "3", ""), failure("TestSize", "b-xzwvt", "with 1 pods", "3", "")}, alike, false},
		"nothing":     {[]string{failure("TestNodes", "a-bcdfg", "to exist", "it does not", `"one"`), failure("TestSize", "b-xzwvt", "of 2", "1", `"two"`)}, "\nTestNodes", true},
		"one feature": {[]string{holds, failure("TestNodes", "a-bcdfg", "to exist", "it does not", `"one"`)}, "\nTestNodes", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			s := subjectOf(t, &out)
			s.features = []string{"TestNodes", "TestSize"}
			text, _, err := checked(t, s, &out, suiteThat(t, "1", test.lines...))
			g.Expect(err).To(HaveOccurred())
			g.Expect(text).To(ContainSubstring(test.want))
			g.Expect(strings.Count(text, "are forbidden")).To(BeNumerically("<=", 1))
			g.Expect(strings.Contains(text, "hint:")).To(Equal(test.hints), text)
		})
	}
}

// pieces are what was written, one by one.
type pieces []string

func (p *pieces) Write(piece []byte) (int, error) {
	*p = append(*p, string(piece))
	return len(piece), nil
}

// A line about progress, which another process writes, must not come between two lines about a feature.
func TestFailuresArePrintedInOnePiece(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	var printed pieces
	s := subjectOf(t, &out)
	s.Out = &printed
	_, _, err := checked(t, s, &out, suiteThat(t, "1", holds, fails, skipped))
	g.Expect(err).To(HaveOccurred())
	g.Expect(printed).To(ContainElement(And(HavePrefix("\nTestNodes does not hold: "), ContainSubstring("  step:"), ContainSubstring("  hint:"), HaveSuffix("  artifacts: /a\n"))))
}

// A copy is done when all features hold that this cluster can run, and all were run.
func TestCheckPraises(t *testing.T) {
	const image = "holds           TestSize: the size is followed\nnot tried       TestImage: an image\n"
	for name, test := range map[string]struct {
		only  string
		lab   bool
		lines []string
		want  string
	}{
		"all": {lines: []string{holds, strings.ReplaceAll(holds, "TestSize", "TestNodes"), skipped}, want: "\n2 of 2 features hold.\nWell done: this is what 04-status is about.\n"},
		"a part": {
			only: "TestSize|TestImage", lines: []string{holds, skipped},
			want: image + "\nNot part of the score: TestImage\n  because:   no kubelet\n\n1 of 1 feature holds.\n" +
				"ONLY skipped 1 other feature. Run the check without it to see whether you are done.\n",
		},
		"a lab": {lab: true, lines: []string{holds, strings.ReplaceAll(holds, "TestSize", "TestNodes"), skipped}, want: "\n2 of 2 features hold.\nFixed. Because.\nReal projects with the same bug:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			s := subjectOf(t, &out)
			s.Only, s.broken, s.fault = test.only, test.lab, Fault{Point: "Because."}
			s.chosen = []string{"TestImage", "TestSize"} // if only is set
			text, kept, err := checked(t, s, &out, suiteThat(t, "0", test.lines...))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kept).To(BeFalse(), "nobody needs the log")
			g.Expect(text).To(HaveSuffix(test.want))
		})
	}
}

// A marker that was changed without generating is behind what the suite has tested, so a success needs the note as much as a failure. It
// does not give away the fault of a lab that still has it.
func TestCheckAlwaysWarnsOfStale(t *testing.T) {
	for name, test := range map[string]struct {
		lab   bool
		code  string
		lines []string
		want  bool
	}{
		"success":          {false, "0", []string{holds, strings.ReplaceAll(holds, "TestSize", "TestNodes"), skipped}, true},
		"failure":          {false, "1", []string{holds, fails, skipped}, true},
		"a lab, not fixed": {true, "1", []string{holds, fails, skipped}, false},
		"a lab, fixed":     {true, "0", []string{holds, strings.ReplaceAll(holds, "TestSize", "TestNodes"), skipped}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			s := subjectOf(t, &out)
			s.broken = test.lab
			g.Expect(os.WriteFile(filepath.Join(s.Dir, "Makefile"), []byte("all:\n\nmanifests:\n\techo new >crd.yaml\n"), 0o600)).To(Succeed())
			g.Expect(os.WriteFile(filepath.Join(s.Dir, "crd.yaml"), []byte("old\n"), 0o600)).To(Succeed())
			text, _, _ := checked(t, s, &out, suiteThat(t, test.code, test.lines...))
			g.Expect(strings.Contains(text, "\nGenerated from older code: crd.yaml. Run make generate manifests DIR="+quote(s.Dir)+".\n")).To(Equal(test.want), text)
		})
	}
}

// One reason is printed once, for all features.
func TestCheckPrintsWhyNothingWasTried(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	text, _, err := checked(t, subjectOf(t, &out), &out, suiteThat(t, "1", `{"feature":"the operator starts","outcome":"does not hold","message":"exit code 2\nno flag"}`))
	g.Expect(err).To(MatchError("not yet: 0 of 3 features hold"))
	g.Expect(text).To(Equal("\nNot tried: TestImage, TestNodes, TestSize\n" +
		"  because:   the operator does not start: exit code 2\n             no flag\n\nOutput of the suite: LOG\n"))
}

// The hints about a lab are those of make hint: a feature's could give the fault away.
func TestCheckOfALabHasNoHints(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	s := subjectOf(t, &out)
	s.broken = true
	text, _, err := checked(t, s, &out, suiteThat(t, "1", holds, fails, skipped))
	g.Expect(err).To(MatchError("not yet: 1 of 2 features hold"))
	g.Expect(text).To(And(ContainSubstring("  last seen: none\n"), Not(ContainSubstring("hint"))))
}

// What is not the operator's fault has no score.
func TestCheckFailsWithoutAScore(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	_, kept, err := checked(t, subjectOf(t, &out), &out, suiteThat(t, "1", `{"feature":"the cluster starts","outcome":"not tried","reason":"no disk"}`))
	g.Expect(err).To(MatchError(MatchRegexp(`^the cluster does not start: no disk; output of the suite: .+\.log$`)))
	g.Expect(kept).To(BeTrue())
}

// An operator that does not compile is answered by the compiler alone.
func TestCheckOfWhatDoesNotCompile(t *testing.T) {
	g := NewWithT(t)
	root, err := filepath.Abs("../../..")
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	for file, content := range map[string]string{
		submission.StageFile:                "04-status\n",
		"go.mod":                            "module example.com/mine\n\ngo 1.26\n",
		"cmd/main.go":                       "package main\n\nfunc main() { missing() }\n",
		"config/default/kustomization.yaml": "resources: []\n",
	} {
		path := filepath.Join(dir, file)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
	var out strings.Builder
	_, err = Check(t.Context(), CheckInput{Root: root, Dir: dir, Out: &out})
	g.Expect(err).To(MatchError(ErrNotBuilt))
	g.Expect(out.String()).To(Equal("# example.com/mine/cmd\ncmd/main.go:3:15: undefined: missing\n"))

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Check(canceled, CheckInput{Root: root, Dir: dir, Out: &out})
	g.Expect(errors.Is(err, ErrNotBuilt)).To(BeFalse(), "Ctrl-C says nothing about the code")
}

// TestSettingsOfTheSuite wants the variables that a learner has exported to count, and invalid ones to be refused by name before anything
// is looked at.
func TestSettingsOfTheSuite(t *testing.T) {
	g := NewWithT(t)
	suite := filepath.Join(t.TempDir(), "suite")
	script := "#!/bin/sh\necho noise\necho \"$TESTBED_TIMEOUT $TESTBED_TIMEOUT_FAILING\" >\"$0.seen\"\necho '" + holds + "' >>\"$TESTBED_REPORT\"\n"
	g.Expect(os.WriteFile(suite, []byte(script), 0o700)).To(Succeed())
	for _, test := range []struct{ timeout, failing, want string }{
		{"", "", "10s 3s\n"},
		{"40s", "", "40s 3s\n"},
		{"", "20s", "10s 20s\n"},
		{"40s", "20s", "40s 20s\n"},
	} {
		t.Setenv("TESTBED_TIMEOUT", test.timeout)
		t.Setenv("TESTBED_TIMEOUT_FAILING", test.failing)
		var out strings.Builder
		s := subjectOf(t, &out)
		_, _, _ = checked(t, s, &out, suite)
		g.Expect(os.ReadFile(suite + ".seen")).To(BeEquivalentTo(test.want))
	}
	t.Setenv("TESTBED_TIMEOUT", "")
	t.Setenv("TESTBED_TIMEOUT_FAILING", "")
	for variable, want := range map[string]string{
		"TESTBED_TIMEOUT":         "TESTBED_TIMEOUT=poison is not a duration: give one such as 10s",
		"TESTBED_TIMEOUT_FAILING": "TESTBED_TIMEOUT_FAILING=poison is not a duration: give one such as 10s",
		"TESTBED_SEED":            `invalid TESTBED_SEED "poison": want a whole number such as 7`,
	} {
		t.Setenv(variable, "poison")
		_, err := Check(t.Context(), CheckInput{Root: t.TempDir(), Dir: t.TempDir()})
		g.Expect(err).To(MatchError(want))
		t.Setenv(variable, "")
	}
}
