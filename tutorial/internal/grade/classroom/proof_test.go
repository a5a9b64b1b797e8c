package classroom_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
	"github.com/example/operator-testbed/tutorial/internal/grade/classroom"
	"github.com/example/operator-testbed/tutorial/internal/grade/export"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// proofStage is the chapter of the class. Its suite has the fewest features, and what a fault of it breaks depends neither on the seed nor
// on time.
const proofStage = "03-controller"

// handedIn is what one student of the class hands in, and what must become of it.
type handedIn struct {
	// what names it in messages.
	what string
	// The submission is the solution of the chapter, or the break-it lab, or what was handed out, as far as these say so, with the
	// chapter's mutants and with files, which are written with the path of the class in place of %[1]s.
	lab     string
	begun   bool
	empty   bool
	mutants []string
	files   map[string]string
	// edit replaces a text in a file.
	edit *edit
	late bool

	// refused is a part of the message where nothing can be run, and fails are the features that don't hold.
	refused string
	fails   []string
}

type edit struct{ file, old, new string }

// features are all of the chapter.
var features = []string{"TestDelete", "TestPort", "TestRepair", "TestSize", "TestTwoInANamespace"}

// cheat prints what a suite prints of features that hold, and exits as one that succeeds.
const cheat = `package main

import (
	"fmt"
	"os"
)

func init() {
	fmt.Println("--- PASS: TestSize (0.10s)\n{\"test\":\"TestSize\",\"outcome\":\"holds\"}\nPASS\nok")
	os.Exit(0)
}
`

// spy prints what it can read of others, and ends if there is anything. Otherwise it is the operator of the solution: so if all features
// hold, it has read nothing.
const spy = `package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func init() {
	others, _ := filepath.Glob("%[1]s/*")
	found := len(others) > 0
	fmt.Println("spy:", others)
	for _, path := range []string{
		fmt.Sprintf("/proc/%%d/environ", os.Getppid()), "/proc/1/environ",
		"%[1]s/submitted/s01/03-controller/cmd/main.go", "%[1]s/roster.csv", "%[1]s/secret",
	} {
		if text, err := os.ReadFile(path); err == nil {
			fmt.Printf("spy: %%s: %%s\n", path, text)
			found = true
		}
	}
	if found {
		os.Exit(3)
	}
}
`

// hog takes all memory that there is.
const hog = `package main

import "bytes"

var hoard [][]byte

func init() {
	for {
		hoard = append(hoard, bytes.Repeat([]byte{1}, 64<<20))
	}
}
`

const reconciler = "internal/controller/memcached_controller.go"

// theClass is what a class of thirty hands in: 12 solutions, of which one more is late, 10 with known faults, 4 that are hostile, 2 that
// do not compile, and an empty directory. One of each sort comes first, because a smaller class has the first of them.
var theClass = slices.Concat([]handedIn{
	{what: "right"},
	{what: "the lab hands-off", lab: "hands-off", fails: []string{"TestRepair"}},
	{what: "prints PASS", files: map[string]string{"cmd/init.go": cheat}, fails: features},
	{what: "does not compile", files: map[string]string{"cmd/more.go": "package main\n\nvar n int = \"one\"\n"}, refused: "cmd/more.go:3"},
	{what: "empty", empty: true, refused: ".stage is missing"},
	{what: "late", late: true},
	{what: "a spy", files: map[string]string{"cmd/spy.go": spy}},
	{
		what: "binds itself to cluster-admin", edit: &edit{"config/rbac/role_binding.yaml", "  name: manager-role\n", "  name: cluster-admin\n"},
		refused: "cluster-admin",
	},
	{what: "a memory hog", files: map[string]string{"cmd/hog.go": hog}, fails: features},
	{what: "two faults", mutants: []string{"gone-is-an-error", "port-not-passed-on"}, fails: []string{"TestDelete", "TestPort"}},
	{what: "is no Go", edit: &edit{reconciler, "func (r *MemcachedReconciler) Reconcile(", "func r.Reconcile("}, refused: reconciler},
	{what: "the lab left-behind", lab: "left-behind", fails: []string{"TestDelete", "TestRepair"}},
	{what: "the lab mixed-up", lab: "mixed-up", fails: []string{"TestTwoInANamespace"}},
	{what: "the lab no-answer", lab: "no-answer", fails: features},
	{what: "what was handed out, and a file", begun: true, files: map[string]string{"cmd/begun.go": "package main\n"}, fails: features},
	{what: "an error too many", mutants: []string{"gone-is-an-error"}, fails: []string{"TestDelete"}},
	{what: "another port", mutants: []string{"port-not-passed-on"}, fails: []string{"TestPort"}},
	{
		what: "sleeps, another port", mutants: []string{"deployment-not-watched", "port-not-passed-on"},
		fails: []string{"TestPort", "TestRepair"},
	},
	{
		what: "an error, one selector", mutants: []string{"gone-is-an-error", "shared-selector"},
		fails: []string{"TestDelete", "TestTwoInANamespace"},
	},
}, slices.Repeat([]handedIn{{what: "right"}}, 11))

// outcome is what became of a student.
type outcome struct {
	status grade.Status
	score  float64
	fails  string
}

// want is what must become of a submission. A late one was collected in the second day after it was due.
func (h handedIn) want() outcome {
	if h.refused != "" {
		return outcome{status: grade.NotGradable, fails: strings.Join(features, " ")}
	}
	score := float64(len(features) - len(h.fails))
	if h.late {
		score *= 0.8
	}
	return outcome{grade.Graded, score, strings.Join(h.fails, " ")}
}

// make makes the submission in the directory dir. copied is the student's copy, and solution that of the chapter.
func (h handedIn) make(t *testing.T, c *class.Class, copied, solution, dir string) {
	t.Helper()
	g := NewWithT(t)
	switch {
	case h.empty:
		g.Expect(os.Mkdir(dir, 0o755)).To(Succeed())
		return
	case h.begun:
		g.Expect(os.CopyFS(dir, os.DirFS(copied))).To(Succeed())
	case h.lab != "":
		g.Expect(exercises.Break(t.Context(), root, h.lab, dir, io.Discard)).To(Succeed())
	default:
		g.Expect(os.CopyFS(dir, os.DirFS(solution))).To(Succeed())
	}
	for _, name := range h.mutants {
		patch, err := filepath.Abs(filepath.Join(root, "tutorial", proofStage, "test", "e2e", "mutants", name+".patch"))
		g.Expect(err).NotTo(HaveOccurred())
		apply := exec.CommandContext(t.Context(), "git", "apply", "-p3", patch) // a/tutorial/NN-name/ in front of each path
		apply.Dir = dir
		out, err := apply.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s: %s", name, out)
	}
	for name, text := range h.files {
		if strings.Contains(text, "%[1]s") {
			text = fmt.Sprintf(text, c.Dir)
		}
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	if h.edit != nil {
		file := filepath.Join(dir, h.edit.file)
		before, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		after := bytes.Replace(before, []byte(h.edit.old), []byte(h.edit.new), 1)
		g.Expect(after).NotTo(Equal(before), "%s: nothing to replace in %s", h.what, h.edit.file)
		g.Expect(os.WriteFile(file, after, 0o600)).To(Succeed())
	}
}

// TestClass takes a class from its roster to the exported grades, behind both walls: see make class-proof. CLASS_SIZE is how many of
// the thirty are in it.
func TestClass(t *testing.T) {
	tier.Nightly(t)
	students := theClass
	if text := os.Getenv("CLASS_SIZE"); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || size > len(theClass) {
			t.Fatalf("invalid CLASS_SIZE %q: want a number from 1 to %d", text, len(theClass))
		}
		students = theClass[:size]
	}
	c, assignment := proofClass(t, proofStage, len(students))
	prove(t, c, assignment, students)

	// Nobody has brought out what only the teacher's files have.
	g := NewWithT(t)
	secret, err := os.ReadFile(filepath.Join(c.Dir, class.SecretFile))
	g.Expect(err).NotTo(HaveOccurred())
	for _, dir := range []string{class.Graded, class.Feedback} {
		g.Expect(filepath.WalkDir(filepath.Join(c.Dir, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, bytes.TrimSpace(secret)) {
				err = errors.Join(err, fmt.Errorf("%s has the secret of the class", path))
			}
			return err
		})).To(Succeed())
	}
}

// TestLab takes a break-it lab from the roster to the exported grades, as TestClass does a chapter: one of two students has fixed it.
func TestLab(t *testing.T) {
	tier.Nightly(t)
	g := NewWithT(t)
	solution := filepath.Join(t.TempDir(), "solution")
	g.Expect(exercises.Solution(t.Context(), root, proofStage, solution, io.Discard)).To(Succeed())
	right, err := os.ReadFile(filepath.Join(solution, reconciler))
	g.Expect(err).NotTo(HaveOccurred())
	c, assignment := proofClass(t, "hands-off", 2)
	prove(t, c, assignment, []handedIn{
		{what: "still broken", begun: true, files: map[string]string{"cmd/begun.go": "package main\n"}, fails: []string{"TestRepair"}},
		{what: "fixed", begun: true, files: map[string]string{reconciler: string(right)}},
	})
}

// proofClass makes a class, and hands out an assignment to it.
func proofClass(t *testing.T, name string, size int) (*class.Class, class.Assignment) {
	t.Helper()
	g := NewWithT(t)
	work := t.TempDir()
	var roster strings.Builder
	roster.WriteString("id,name,email\n")
	for i := range size {
		fmt.Fprintf(&roster, "%s,Student %d,s%[2]d@example.com\n", studentID(i), i+1)
	}
	rosterFile := filepath.Join(work, "roster.csv")
	g.Expect(os.WriteFile(rosterFile, []byte(roster.String()), 0o600)).To(Succeed())
	c, err := class.New(t.Context(), root, filepath.Join(work, "class"), name, rosterFile, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	assignment, err := c.Assignment(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(class.Handout(t.Context(), root, c, assignment, class.Directories, nil)).To(HaveLen(size))
	return c, assignment
}

// prove collects and grades what the students hand in, and compares the exported grades with what they must be.
func prove(t *testing.T, c *class.Class, a class.Assignment, students []handedIn) {
	t.Helper()
	collectClass(t, c, a, students)
	got, messages := exported(t, gradeClass(t, c, a))
	NewWithT(t).Expect(got).To(HaveLen(len(students)))
	for i, student := range students {
		id := studentID(i)
		if got[id] != student.want() {
			t.Errorf("%s (%s): expected %+v, got %+v %s", id, student.what, student.want(), got[id], messages[id])
		}
		if !strings.Contains(messages[id], student.refused) {
			t.Errorf("%s (%s): expected a message with %q, got %q", id, student.what, student.refused, messages[id])
		}
	}
}

func studentID(i int) string { return fmt.Sprintf("s%02d", i+1) }

// collectClass makes what the students hand in, and collects it: directories, archives, and what is late.
func collectClass(t *testing.T, c *class.Class, a class.Assignment, students []handedIn) {
	t.Helper()
	now := time.Now()
	g := NewWithT(t)
	work := t.TempDir()
	solution := filepath.Join(work, "solution")
	g.Expect(exercises.Solution(t.Context(), root, proofStage, solution, io.Discard)).To(Succeed())
	copies, archives, late := filepath.Join(work, "copies"), filepath.Join(work, "archives"), filepath.Join(work, "late")
	for _, dir := range []string{copies, archives, late} {
		g.Expect(os.Mkdir(dir, 0o755)).To(Succeed())
	}
	handed := map[string]int{}
	for i, student := range students {
		from := copies
		if student.late {
			from = late
		}
		dir := filepath.Join(from, studentID(i))
		student.make(t, c, filepath.Join(c.Dir, class.Release, a.Name(), studentID(i)), solution, dir)
		if i%2 == 1 && from == copies {
			from = archives
			_, err := submission.Pack(root, dir, filepath.Join(archives, studentID(i)+".tar.gz"))
			g.Expect(err).NotTo(HaveOccurred(), student.what)
			g.Expect(os.RemoveAll(dir)).To(Succeed())
		}
		handed[from]++
	}
	for _, from := range []struct {
		dir  string
		form class.Form
		at   time.Time
	}{{copies, class.Directories, now}, {archives, class.Archives, now}, {late, class.Directories, a.Due.Add(25 * time.Hour)}} {
		all, err := class.Collect(t.Context(), root, c, a, from.dir, from.form, from.at)
		g.Expect(err).NotTo(HaveOccurred())
		found := slices.DeleteFunc(all, func(one class.Collection) bool { return one.Outcome == class.Missing })
		g.Expect(found).To(HaveLen(handed[from.dir]), "%s: %+v", from.form, found)
	}
}

// gradeClass grades as lab grade does. What it prints at its end is what each submission has cost.
func gradeClass(t *testing.T, c *class.Class, a class.Assignment) gradebook.Gradebook {
	t.Helper()
	g := NewWithT(t)
	walls, err := isolation.Choose(t.Context(), isolation.WantBoth)
	g.Expect(err).NotTo(HaveOccurred())
	chapter, err := grading.Prepare(t.Context(), grading.Assignment{Root: root, Stage: a.Stage, Lab: a.Lab, Work: t.TempDir()})
	g.Expect(err).NotTo(HaveOccurred())
	grader := &grading.Grader{Chapter: chapter, Cell: walls, Commit: "test"}
	o := classroom.Options{Class: c, Assignment: a, AtOnce: batch.Parallel(runtime.NumCPU(), 0), Grader: grader, Commit: grader.Commit}
	o.Isolation.Outer, o.Isolation.Inner = walls.Isolation()
	g.Expect(classroom.Grade(t.Context(), o, os.Stdout)).To(Succeed())
	book, err := classroom.Book(c, a, float64(len(features)))
	g.Expect(err).NotTo(HaveOccurred())
	return book
}

// exported returns what the exported grades say of each student, and why features do not hold.
func exported(t *testing.T, book gradebook.Gradebook) (outcomes map[string]outcome, messages map[string]string) {
	t.Helper()
	g := NewWithT(t)
	text, err := export.OfClass(export.JSON, book)
	g.Expect(err).NotTo(HaveOccurred())
	var grades struct {
		Rows []struct {
			Student string       `json:"student"`
			Score   float64      `json:"score"`
			Result  grade.Result `json:"result"`
		} `json:"rows"`
	}
	g.Expect(json.Unmarshal(text, &grades)).To(Succeed())
	outcomes, messages = map[string]outcome{}, map[string]string{}
	for _, row := range grades.Rows {
		var fails []string
		for _, test := range row.Result.Tests {
			if test.Status != grade.Pass {
				fails = append(fails, test.Name)
			}
		}
		outcomes[row.Student] = outcome{row.Result.Status, row.Score, strings.Join(fails, " ")}
		messages[row.Student] = row.Result.Message
		for _, test := range row.Result.Tests {
			if test.Message != "" {
				messages[row.Student] += fmt.Sprintf("\n%s: %s", test.Name, test.Message)
			}
		}
	}
	return outcomes, messages
}
