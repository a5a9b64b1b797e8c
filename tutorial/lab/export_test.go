package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/classroom"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// halfGrader gives one of two points, and fails at the student whom it is named after.
type halfGrader string

func (halfGrader) Calibrate(context.Context, string) (grading.Calibration, error) {
	return grading.Calibration{Tests: []grade.Test{
		{Name: "TestA", Status: grade.Pass, Score: 1, MaxScore: 1}, {Name: "TestB", Status: grade.Pass, Score: 1, MaxScore: 1},
	}}, nil
}

func (h halfGrader) One(_ context.Context, _ grading.Calibration, in grading.Input) (grade.Result, error) {
	r := grade.Result{
		Schema: grade.Schema, Student: in.Student, Stage: "04-status", Status: grade.GraderError, Message: "the disk is full", Grader: "abc", Seed: in.Seed,
	}
	if in.Student == string(h) {
		return r, nil
	}
	hash, err := submission.Hash(in.Dir)
	r.Status, r.Message, r.Submission, r.Score, r.MaxScore = grade.Graded, "", hash, 1, 2
	r.Tests = []grade.Test{
		{Name: "TestA", Status: grade.Pass, Score: 1, MaxScore: 1}, {Name: "TestB", Status: grade.Fail, MaxScore: 1, Message: "expected b"},
	}
	return r, err
}

func (halfGrader) Refused(grading.Calibration, grading.Input, string) grade.Result {
	panic("nothing is refused here")
}

// newExportClass returns the directory of a class of three, whose third student hands in nothing, and a function that hands in.
func newExportClass(t *testing.T) (dir string, handIn func(id, text string), gradeAll func(grader classroom.Grader)) {
	t.Helper()
	g := NewWithT(t)
	t.Chdir(repository)
	dir = filepath.Join(t.TempDir(), "ops")
	roster := filepath.Join(t.TempDir(), "students.csv")
	students := "id,name,email\ns01,Ada Lovelace,ada@example.com\ns02,Bob Ash,bob@example.com\ns03,Cy Cole,\n"
	g.Expect(os.WriteFile(roster, []byte(students), 0o600)).To(Succeed())
	_, err := class.New(t.Context(), ".", dir, "04-status", roster, start)
	g.Expect(err).NotTo(HaveOccurred())
	c, a, err := read(dir, "")
	g.Expect(err).NotTo(HaveOccurred())
	handIn = func(id, text string) {
		from := t.TempDir()
		for name, content := range map[string]string{
			"go.mod": "module example.com/memcached-operator\n", ".stage": "04-status\n", "cmd/main.go": text, "config/a.yaml": "a: 1\n",
		} {
			file := filepath.Join(from, id, name)
			g.Expect(errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600))).To(Succeed())
		}
		_, err := class.Collect(t.Context(), ".", c, a, from, class.Directories, start.Add(time.Hour))
		g.Expect(err).NotTo(HaveOccurred())
	}
	gradeAll = func(grader classroom.Grader) {
		// What the grader fails at is an error of grading, but leaves a result.
		_ = classroom.Grade(t.Context(), classroom.Options{Class: c, Assignment: a, AtOnce: 1, Grader: grader, Commit: "abc"}, io.Discard)
	}
	return dir, handIn, gradeAll
}

// The grades arrive in the file. Whoever has none is named, and what is not graded is not exported as a zero.
func TestExportClass(t *testing.T) {
	g := NewWithT(t)
	dir, handIn, gradeAll := newExportClass(t)
	file := filepath.Join(t.TempDir(), "grades.csv")
	exported := func(in exportInput) (string, error) {
		in.dir, in.out = dir, file
		var out strings.Builder
		err := exportClass(in, &out)
		return strings.TrimPrefix(out.String(), file), err
	}
	moodle := exportInput{format: "moodle"}

	_, err := exported(moodle)
	g.Expect(err).To(MatchError("nothing of 04-status is graded yet: type make class-grade DIR='" + dir + "' STAGE=04-status"))
	handIn("s01", "package main\n")
	gradeAll(halfGrader(""))
	g.Expect(exported(moodle)).To(Equal(" has the grades of 04-status, as moodle: 3 of 3 students; s02, s03 handed in nothing, which is a zero\n"))

	handIn("s02", "package main\n")
	_, err = exported(moodle)
	g.Expect(err).To(MatchError("of 04-status there are submissions without a grade (s02): type make class-grade DIR='" + dir + "' STAGE=04-status"))
	gradeAll(halfGrader("s02"))
	g.Expect(exported(moodle)).To(Equal(" has the grades of 04-status, as moodle: 2 of 3 students; s03 handed in nothing, which is a zero; " +
		"s02 without a grade, because the grader failed: grade again\n"))
	g.Expect(os.ReadFile(file)).NotTo(ContainSubstring("bob@example.com"))
	gradeAll(halfGrader(""))
	g.Expect(exported(moodle)).To(HaveSuffix("3 of 3 students; s03 handed in nothing, which is a zero\n"))
	g.Expect(os.ReadFile(file)).To(And(ContainSubstring("s02,bob@example.com,1,"), ContainSubstring("s03,,0,Nothing was handed in.")))

	g.Expect(exported(exportInput{format: "canvas", column: "Status (12)"})).To(HavePrefix(" has the grades of 04-status, as canvas: 3 of 3 students"))
	g.Expect(os.ReadFile(file)).To(HavePrefix("Student,ID,SIS User ID,SIS Login ID,Section,Status (12)\n\"Lovelace, Ada\",,s01,ada@example.com,,1\n"))

	own := filepath.Join(t.TempDir(), "own.csv")
	g.Expect(os.WriteFile(own, []byte("Name,{{.Column}}\n{{.FirstName}} {{.LastName}},{{.Score}} of {{.Max}}\n"), 0o600)).To(Succeed())
	g.Expect(exported(exportInput{format: own})).To(HavePrefix(" has the grades of 04-status, as " + own + ": 3 of 3 students"))
	g.Expect(os.ReadFile(file)).To(BeEquivalentTo("Name,04-status\nAda Lovelace,1 of 2\nBob Ash,1 of 2\nCy Cole,0 of 2\n"))

	// Other points than those that were given: a new grading gives them.
	text, err := os.ReadFile(filepath.Join(dir, class.File))
	g.Expect(err).NotTo(HaveOccurred())
	changed := strings.Replace(string(text), "stage: 04-status", "stage: 04-status\n  features: {TestB: 3}", 1)
	g.Expect(changed).NotTo(Equal(string(text)))
	g.Expect(os.WriteFile(filepath.Join(dir, class.File), []byte(changed), 0o600)).To(Succeed())
	_, err = exported(moodle)
	g.Expect(err).To(MatchError(ContainSubstring("submissions without a grade (s01, s02)")))
}

// An export replaces an earlier one and nothing else.
func TestExportKeepsFiles(t *testing.T) {
	g := NewWithT(t)
	dir, handIn, gradeAll := newExportClass(t)
	handIn("s01", "package main\n")
	gradeAll(halfGrader(""))
	elsewhere := t.TempDir()
	link, mine, grades := filepath.Join(elsewhere, "link"), filepath.Join(elsewhere, "mine.csv"), filepath.Join(elsewhere, "grades.csv")
	g.Expect(os.Symlink(dir, link)).To(Succeed())
	g.Expect(os.WriteFile(mine, []byte("id,name,email\n"), 0o600)).To(Succeed())
	export := func(format, out string) error {
		return exportClass(exportInput{dir: dir, format: format, out: out}, io.Discard)
	}
	for out, want := range map[string]string{
		"-":                                    "OUT=- is not the name of a file: use one such as OUT=grades.csv",
		filepath.Join(dir, "secret"):           "belongs to the class: name another file with OUT",
		filepath.Join(dir, "roster.csv"):       "belongs to the class: name another file with OUT",
		filepath.Join(dir, "adjustments.yaml"): "belongs to the class: name another file with OUT",
		filepath.Join(dir, "graded", "x.json"): "belongs to the class: name another file with OUT",
		filepath.Join(link, "roster.csv"):      "belongs to the class: name another file with OUT",
		mine:                                   "is not an export of this class, or was changed since: move it away, or name another file with OUT",
		link:                                   "is not a regular file: name another one with OUT",
		filepath.Join(elsewhere, "no", "out.csv"): "there is no directory " + filepath.Join(elsewhere, "no") + " to write out.csv in: make it, or name another file with OUT",
	} {
		before, _ := os.ReadFile(out)
		g.Expect(export("moodle", out)).To(MatchError(HaveSuffix(want)), out)
		after, _ := os.ReadFile(out)
		g.Expect(after).To(Equal(before), out)
	}
	g.Expect(filepath.Join(elsewhere, "no")).NotTo(BeAnExistingFile())
	g.Expect("-").NotTo(BeAnExistingFile())

	g.Expect(export("moodle", grades)).To(Succeed())
	g.Expect(export("json", grades)).To(Succeed(), "another export")
	g.Expect(os.WriteFile(grades, []byte("changed by hand\n"), 0o600)).To(Succeed())
	g.Expect(export("json", grades)).To(MatchError(HaveSuffix("or was changed since: move it away, or name another file with OUT")))
}

// A mistake in the command is found before anything is read or written.
func TestExportRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "grades")
	for _, test := range []struct{ args, want string }{
		{"--lab=hands-off --stage=04-status --format=json --out=" + out, "LAB=hands-off is what the class works on: leave STAGE=04-status out"},
		{"--dir=x --out=" + out, "name the format, FORMAT=name: canvas, moodle, nbgrader, json, junit, or a template in a file such as grades.csv"},
		{"--dir=x --format=vpl --out=" + out, `unknown format "vpl" of a class: use json, junit, canvas, moodle, nbgrader, or your own template in a file such as grades.csv`},
		{"--dir=x --format=no-such.csv --out=" + out, "read the template: open no-such.csv: no such file or directory: name one of canvas, moodle, nbgrader, or a file"},
		{"--dir=x --format=json", "name the file to write: OUT=file"},
		{"--dir=x --format=json --column=y --out=" + out, "the format json has no columns: leave out COLUMN"},
	} {
		root := Command(new(string))
		root.SetArgs(append([]string{"class", "export"}, strings.Fields(test.args)...))
		err := root.ExecuteContext(t.Context())
		NewWithT(t).Expect(err).To(MatchError(test.want), test.args)
	}
	NewWithT(t).Expect(out).NotTo(BeAnExistingFile())
}
