package classroom_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
	"github.com/example/operator-testbed/tutorial/internal/grade/classroom"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

const root = "../../../.."

// fake grades by the size of a file: a submission holds in as many features as its answer has bytes.
type fake struct {
	calibrations, graded atomic.Int32
	broken               bool   // the solution fails
	interrupt            func() // while the solution is graded
}

func (f *fake) Calibrate(ctx context.Context, _ string) (grading.Calibration, error) {
	f.calibrations.Add(1)
	if f.interrupt != nil {
		f.interrupt()
		return grading.Calibration{}, fmt.Errorf("run the suite: %w", ctx.Err())
	}
	if f.broken {
		return grading.Calibration{}, errors.New("the solution fails in TestA here, so nobody is graded")
	}
	return grading.Calibration{Tests: []grade.Test{
		{Name: "TestA", Title: "a", Status: grade.Pass, Score: 1, MaxScore: 1}, {Name: "TestB", Title: "b", Status: grade.Pass, Score: 1, MaxScore: 1},
		{Name: "TestNodes", Title: "nodes", Status: grade.Skip, Message: "it needs real nodes"},
	}}, nil
}

func (f *fake) One(_ context.Context, c grading.Calibration, in grading.Input) (grade.Result, error) {
	f.graded.Add(1)
	hash, err := submission.Hash(in.Dir)
	if err != nil {
		return grade.Result{}, err
	}
	answer, err := os.ReadFile(filepath.Join(in.Dir, "cmd", "main.go"))
	if err != nil {
		return grade.Result{}, err
	}
	r := grade.Result{Schema: grade.Schema, Student: in.Student, Stage: "04-status", Status: grade.Graded, Grader: "abc", Submission: hash, Seed: in.Seed}
	for i, t := range c.Tests {
		t.Score = 0
		if t.Status != grade.Skip {
			t.Status, t.MaxScore = grade.Fail, in.Points(t.Name)
			if bytes.Count(answer, []byte("\n")) > i {
				t.Status, t.Score = grade.Pass, t.MaxScore
			}
		}
		r.Tests = append(r.Tests, t)
		r.Score, r.MaxScore = r.Score+t.Score, r.MaxScore+t.MaxScore
	}
	r.Volatile = grade.Volatile{GradedAt: time.Now(), TookMS: int64(f.graded.Load()), Log: in.LogName}
	return r, os.WriteFile(in.Log, []byte("log\n"), 0o600)
}

func (f *fake) Refused(_ grading.Calibration, in grading.Input, reason string) grade.Result {
	return grade.Result{Schema: grade.Schema, Student: in.Student, Stage: "04-status", Status: grade.NotGradable, Message: reason, Grader: "abc", Seed: in.Seed,
		Tests: []grade.Test{{Name: "TestA", Status: grade.Fail, MaxScore: in.Points("TestA")}, {Name: "TestB", Status: grade.Fail, MaxScore: in.Points("TestB")}, {Name: "TestNodes", Status: grade.Skip}}}
}

// newClass returns a class of four: one holds in both features, one in one, one has handed in a link, and one nothing.
func newClass(t *testing.T) (*class.Class, class.Assignment) {
	t.Helper()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "class")
	roster := filepath.Join(t.TempDir(), "roster.csv")
	g.Expect(os.WriteFile(roster, []byte("id,name,email\ns01,Ann Ash,ann@example.com\ns02,Bob,\ns03,Cy Cole,\ns04,Di Dew,\n"), 0o600)).To(Succeed())
	_, err := class.New(t.Context(), root, dir, "04-status", roster, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	c, err := class.Read(root, dir)
	g.Expect(err).NotTo(HaveOccurred())
	a, err := c.Assignment("04-status")
	g.Expect(err).NotTo(HaveOccurred())
	a.Features, a.Due, a.LatePerDay = map[string]float64{"TestB": 3}, time.Now().Add(-time.Hour), 50
	return c, a
}

// collect hands in the text as the answers of the students, of which an empty one is a link.
func collect(t *testing.T, c *class.Class, a class.Assignment, at time.Time, answers map[string]string) {
	t.Helper()
	g := NewWithT(t)
	from := t.TempDir()
	for id, text := range answers {
		g.Expect(os.MkdirAll(filepath.Join(from, id, "cmd"), 0o755)).To(Succeed())
		g.Expect(os.MkdirAll(filepath.Join(from, id, "config"), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(from, id, "go.mod"), []byte("module example.com/memcached-operator\n"), 0o600)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(from, id, ".stage"), []byte("04-status\n"), 0o600)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(from, id, "config", "a.yaml"), []byte("a: 1\n"), 0o600)).To(Succeed())
		if text == "" {
			g.Expect(os.Symlink("/etc/passwd", filepath.Join(from, id, "cmd", "main.go"))).To(Succeed())
			continue
		}
		g.Expect(os.WriteFile(filepath.Join(from, id, "cmd", "main.go"), []byte(text), 0o600)).To(Succeed())
	}
	_, err := class.Collect(t.Context(), root, c, a, from, class.Directories, at)
	g.Expect(err).NotTo(HaveOccurred())
}

const two, one = "package main\nfunc main() {}\n", "package main\n"

// read returns all that grading has written except for what is volatile.
func read(t *testing.T, c *class.Class) string {
	t.Helper()
	var text strings.Builder
	for _, dir := range []string{class.Graded, class.Feedback} {
		err := fs.WalkDir(os.DirFS(c.Dir), dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			file := filepath.Join(c.Dir, path)
			content, err := os.ReadFile(file)
			if r, notResult := batch.Read(file); notResult == nil && r.Schema == grade.Schema {
				r.Volatile = grade.Volatile{}
				content = fmt.Appendf(nil, "%+v\n", r)
			}
			fmt.Fprintf(&text, "%s\n%s\n", path, content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

func TestGrade(t *testing.T) {
	g := NewWithT(t)
	c, a := newClass(t)
	collect(t, c, a, time.Now().Add(-2*time.Hour), map[string]string{"s01": two, "s03": ""})
	collect(t, c, a, time.Now(), map[string]string{"s02": one})
	grader := &fake{}
	o := classroom.Options{Class: c, Assignment: a, AtOnce: 1, Grader: grader, Commit: "abc"}
	var out bytes.Buffer
	g.Expect(classroom.Grade(t.Context(), o, &out)).To(Succeed())
	g.Expect(out.String()).To(And(HavePrefix("grading the solution of 04-status first\n"), ContainSubstring("s01: 4 of 4"), ContainSubstring("s02: 1 of 4"),
		ContainSubstring("s03: not gradable: cmd/main.go")))

	book, err := classroom.Book(c, a, 4)
	g.Expect(err).NotTo(HaveOccurred())
	var scores []float64
	for _, row := range book.Rows {
		points, ok := book.Assignment.Points(row)
		g.Expect(ok).To(BeTrue())
		scores = append(scores, points.Score)
	}
	g.Expect(scores).To(Equal([]float64{4, 0.5, 0, 0})) // s02 was late
	g.Expect(book.Rows[0].Student.LastName).To(Equal("Ash"))
	g.Expect(filepath.Join(c.Dir, "feedback", "s04", "04-status.md")).To(BeAnExistingFile())
	g.Expect(filepath.Join(c.Dir, "feedback", "04-status.html")).To(BeAnExistingFile())
	first := read(t, c)

	// All that is graded is kept: the solution does not run again, either.
	o.AtOnce = 4
	g.Expect(classroom.Grade(t.Context(), o, io.Discard)).To(Succeed())
	g.Expect([]int32{grader.calibrations.Load(), grader.graded.Load()}).To(Equal([]int32{1, 2}))
	g.Expect(read(t, c)).To(Equal(first))

	// From nothing, with four at once: the same.
	g.Expect(os.RemoveAll(filepath.Join(c.Dir, class.Graded))).To(Succeed())
	g.Expect(classroom.Grade(t.Context(), o, io.Discard)).To(Succeed())
	g.Expect(grader.graded.Load()).To(BeEquivalentTo(4))
	g.Expect(read(t, c)).To(Equal(first))

	// One student is graded again, and an adjustment by hand counts.
	adjustment := "- {student: s02, stage: 04-status, points: 1, comment: a good idea}\n"
	g.Expect(os.WriteFile(filepath.Join(c.Dir, class.AdjustmentsFile), []byte(adjustment), 0o600)).To(Succeed())
	o.Student = "s02"
	g.Expect(classroom.Grade(t.Context(), o, io.Discard)).To(Succeed())
	g.Expect(grader.graded.Load()).To(BeEquivalentTo(5))
	book, err = classroom.Book(c, a, 4)
	g.Expect(err).NotTo(HaveOccurred())
	points, _ := book.Assignment.Points(book.Rows[1])
	g.Expect(points.Score).To(Equal(1.0)) // 1 + 1, half of it for being late
	g.Expect(os.ReadFile(filepath.Join(c.Dir, "feedback", "s02", "04-status.md"))).To(ContainSubstring("a good idea"))

	o.Student = "s99"
	g.Expect(classroom.Grade(t.Context(), o, io.Discard)).To(MatchError(ContainSubstring("there is no student s99 in the class")))
}

// TestBestAttempt grades all attempts where the best one counts, and the newest otherwise.
func TestBestAttempt(t *testing.T) {
	for counts, want := range map[class.Counts]float64{class.Best: 4, class.Last: 0.5} {
		g := NewWithT(t)
		c, a := newClass(t)
		a.Counts = counts
		collect(t, c, a, time.Now().Add(-2*time.Hour), map[string]string{"s01": two})
		collect(t, c, a, time.Now(), map[string]string{"s01": one})
		g.Expect(classroom.Grade(t.Context(), classroom.Options{Class: c, Assignment: a, AtOnce: 2, Grader: &fake{}, Commit: "abc"}, io.Discard)).To(Succeed())
		book, err := classroom.Book(c, a, 4)
		g.Expect(err).NotTo(HaveOccurred())
		points, _ := book.Assignment.Points(book.Rows[0])
		g.Expect(points.Score).To(Equal(want), string(counts))
	}
}

// TestPair grades what two hand in together once, and both have the result.
func TestPair(t *testing.T) {
	g := NewWithT(t)
	c, a := newClass(t)
	a.Pairs = true
	c.Students[0].Pair, c.Students[2].Pair = "one", "one"
	collect(t, c, a, time.Now().Add(-2*time.Hour), map[string]string{"s01": two, "s02": two})
	grader := &fake{}
	o := classroom.Options{Class: c, Assignment: a, AtOnce: 1, Grader: grader, Commit: "abc"}
	var out bytes.Buffer
	results := func() (scores []string) {
		out.Reset()
		g.Expect(classroom.Grade(t.Context(), o, &out)).To(Succeed())
		for _, id := range []string{"s01", "s02", "s03"} {
			r, err := batch.Read(filepath.Join(c.Dir, class.Graded, id, "04-status.json"))
			g.Expect(err).NotTo(HaveOccurred())
			log := filepath.Join(c.Dir, class.Graded, id, ".attempts", "04-status", r.Volatile.Log)
			g.Expect(log).To(BeARegularFile())
			scores = append(scores, fmt.Sprintf("%s %g in run %d", r.Student, r.Score, r.Volatile.TookMS))
		}
		return scores
	}
	g.Expect(results()).To(Equal([]string{"s01 4 in run 1", "s02 4 in run 2", "s03 4 in run 1"})) // s02 has the same files, and another seed
	g.Expect(out.String()).To(ContainSubstring("s01 and s03: 4 of 4"))
	g.Expect(results()).To(Equal([]string{"s01 4 in run 1", "s02 4 in run 2", "s03 4 in run 1"}))
	g.Expect(grader.calibrations.Load()).To(BeEquivalentTo(1))

	o.Student = "s03" // whose submission is that of s01
	g.Expect(results()).To(Equal([]string{"s01 4 in run 3", "s02 4 in run 2", "s03 4 in run 3"}))
}

// TestNobody grades nobody if the solution fails.
func TestNobody(t *testing.T) {
	g := NewWithT(t)
	c, a := newClass(t)
	collect(t, c, a, time.Now(), map[string]string{"s01": two})
	grader := &fake{broken: true}
	err := classroom.Grade(t.Context(), classroom.Options{Class: c, Assignment: a, AtOnce: 1, Grader: grader, Commit: "abc"}, io.Discard)
	g.Expect(err).To(MatchError("the solution fails in TestA here, so nobody is graded"))
	g.Expect(grader.graded.Load()).To(BeZero())
	g.Expect(filepath.Join(c.Dir, class.Graded, "s01")).NotTo(BeADirectory())
}

// TestInterruptedAtFirst: Ctrl-C while the solution is graded has a sentence, too.
func TestInterruptedAtFirst(t *testing.T) {
	g := NewWithT(t)
	c, a := newClass(t)
	ctx, interrupt := context.WithCancel(t.Context())
	grader := &fake{interrupt: interrupt}
	err := classroom.Grade(ctx, classroom.Options{Class: c, Assignment: a, AtOnce: 1, Grader: grader, Commit: "abc"}, io.Discard)
	g.Expect(err).To(MatchError("context canceled: what was finished is kept, and the same command does the rest"))
}
