package class_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

const root = "../../.."

// now is when everything is handed out and collected, unless a test says otherwise.
var now = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

const roster = "id,name,email,pair\ns01,Ann,ann@example.com,a\ns02,Bo,bo@example.com,a\ns03,Cy,,\n"

// write writes a file, and the directories that it is in.
func write(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// newClass makes a class of three students with these assignments.
func newClass(t *testing.T, assignments ...string) *class.Class {
	t.Helper()
	students := filepath.Join(t.TempDir(), "students.csv")
	write(t, roster, students)
	dir := filepath.Join(t.TempDir(), "ops")
	if _, err := class.New(t.Context(), root, dir, "04-status", students, now); err != nil {
		t.Fatal(err)
	}
	write(t, "name: ops\nboard: http://192.168.1.10:8090\nassignments:\n- "+strings.Join(assignments, "\n- ")+"\n", dir, class.File)
	c, err := class.Read(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// simple makes the copy of a chapter that has one file.
func simple(_ context.Context, dir string) error {
	return errors.Join(os.MkdirAll(filepath.Join(dir, "cmd"), 0o755),
		os.WriteFile(filepath.Join(dir, ".stage"), []byte("04-status\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "cmd", "main.go"), []byte("package main\n"), 0o600))
}

// git runs git in a directory, as a student.
func git(t *testing.T, dir string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=s01",
		"GIT_AUTHOR_EMAIL=s01@example.com", "GIT_COMMITTER_NAME=s01", "GIT_COMMITTER_EMAIL=s01@example.com")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// begin adds a file to each copy that was handed out.
func begin(t *testing.T, c *class.Class, a class.Assignment) {
	t.Helper()
	for _, s := range c.Students {
		copied := filepath.Join(c.Dir, class.Release, a.Name(), s.ID)
		if _, err := os.Stat(copied); err == nil { // a pair has one
			write(t, "package main\n", copied, "cmd", "begun.go")
		}
	}
}

// outcomes returns what has become of each student, as "s01 collected".
func outcomes(all []class.Collection) []string {
	var texts []string
	for _, one := range all {
		texts = append(texts, one.Student.ID+" "+string(one.Outcome))
	}
	return texts
}

func TestLate(t *testing.T) {
	const grace, day = 15 * time.Minute, 24 * time.Hour
	for _, test := range []struct {
		after  time.Duration
		perDay int
		want   int
	}{
		{-time.Second, 10, 0},
		{0, 10, 0},
		{grace, 10, 0},
		{grace + 1, 10, 10},
		{day, 10, 10},
		{day + 1, 10, 20},
		{9 * day, 10, 90},
		{10 * day, 10, 100},
		{11 * day, 10, 100},
		{1000 * day, 10, 100},
		{1000 * day, 0, 0},
		{grace + 1, 100, 100},
	} {
		if got := class.Late(now, grace, test.perDay, now.Add(test.after)); got != test.want {
			t.Errorf("%s after it was due, at %d%% a day: got %d%%, expected %d%%", test.after, test.perDay, got, test.want)
		}
	}
	if got := class.Late(time.Time{}, 0, 10, now); got != 0 {
		t.Errorf("never due: got %d%%", got)
	}
}

func TestRead(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, `{stage: 04-status, points: 10, due: 2026-11-23T11:00:00+01:00, grace: 15m, latePerDay: 20, pairs: true, attempts: 3, counts: best}`,
		`{lab: hands-off, features: {TestDrift: 3}}`)
	g.Expect(c.Students).To(Equal([]class.Student{
		{ID: "s01", Name: "Ann", Email: "ann@example.com", Pair: "a"}, {ID: "s02", Name: "Bo", Email: "bo@example.com", Pair: "a"}, {ID: "s03", Name: "Cy"},
	}))
	status, err := c.Assignment("04-status")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status.Due).To(BeTemporally("==", now))
	g.Expect(status.Penalty(now.Add(time.Hour))).To(Equal(20))
	status.Due = time.Time{}
	g.Expect(status).To(Equal(class.Assignment{
		Stage: "04-status", Points: 10, Grace: 15 * time.Minute, LatePerDay: 20, Pairs: true, Attempts: 3, Counts: class.Best,
	}))
	lab, err := c.Assignment("hands-off")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lab).To(Equal(class.Assignment{
		Stage: "03-controller", Lab: "hands-off", Features: map[string]float64{"TestDrift": 3}, Counts: class.Last,
	}))
	_, err = c.Assignment("")
	g.Expect(err).To(MatchError("name the assignment: STAGE=04-status or STAGE=hands-off"))
	_, err = c.Assignment("06-watches")
	g.Expect(err).To(MatchError(HavePrefix("the class ops has no assignment 06-watches: use one of 04-status, hands-off, or add it to ")))

	g.Expect(status.PointsFor([]string{"TestA", "TestB", "TestC", "TestD"})).To(HaveKeyWithValue("TestA", 2.5))
	g.Expect(lab.PointsFor([]string{"TestA", "TestDrift"})).To(Equal(map[string]float64{"TestA": 1, "TestDrift": 3}))
	_, err = lab.PointsFor([]string{"TestA"})
	g.Expect(err).To(MatchError("class.yaml gives points to TestDrift, which is not a feature of hands-off: use some of TestA"))
}

func TestReadRefuses(t *testing.T) {
	c := newClass(t, "stage: 04-status")
	for name, test := range map[string]struct{ yaml, want string }{
		"an unknown key":       {"name: ops\nteacher: me\nassignments: [{stage: 04-status}]\n", `unknown field "teacher"`},
		"no name":              {"assignments: [{stage: 04-status}]\n", `the name "" is empty`},
		"an escape sequence":   {`{name: "\e[2J", assignments: [{stage: 04-status}]}`, `the name "\x1b[2J" is empty, longer`},
		"no assignments":       {"name: ops\n", "it has no assignments: "},
		"an unknown chapter":   {"name: ops\nassignments: [{stage: 04-statues}]\n", "assignment 1: there is no chapter 04-statues with a copy to work on: use one of quickstart, 00-control-loop, "},
		"a former chapter":     {"name: ops\nassignments: [{stage: 09-finalizers}]\n", "assignment 1: STAGE=09-finalizers is now 10-finalizers"},
		"an unknown lab":       {"name: ops\nassignments: [{lab: feet-off}]\n", "assignment 1: there is no lab feet-off: use one of hands-off, "},
		"both":                 {"name: ops\nassignments: [{lab: hands-off, stage: 04-status}]\n", "assignment 1: it needs either a stage or a lab"},
		"neither":              {"name: ops\nassignments: [{points: 3}]\n", "assignment 1: it needs either a stage or a lab"},
		"an assignment twice":  {"name: ops\nassignments: [{stage: 04-status}, {stage: 04-status}]\n", "assignment 2: 04-status is assigned twice"},
		"a time without zone":  {"name: ops\nassignments: [{stage: 04-status, due: 2026-12-01 18:00}]\n", `due is "2026-12-01 18:00": give a time with its zone`},
		"a grace in words":     {"name: ops\nassignments: [{stage: 04-status, due: 2026-12-01T18:00:00Z, grace: a bit}]\n", `grace is "a bit": `},
		"a grace for nothing":  {"name: ops\nassignments: [{stage: 04-status, grace: 15m}]\n", "it has grace or latePerDay, and no due"},
		"more than everything": {"name: ops\nassignments: [{stage: 04-status, due: 2026-12-01T18:00:00Z, latePerDay: 101}]\n", "latePerDay is 101: "},
		"no points":            {"name: ops\nassignments: [{stage: 04-status, points: 0}]\n", "points is 0: "},
		"points twice":         {"name: ops\nassignments: [{stage: 04-status, points: 3, features: {TestA: 1}}]\n", "it has both points and features"},
		"negative points":      {"name: ops\nassignments: [{stage: 04-status, features: {TestA: -1}}]\n", "the feature TestA has -1 points"},
		"not a number":         {"name: ops\nassignments: [{stage: 04-status, points: .nan}]\n", ""},
		"no attempt":           {"name: ops\nassignments: [{stage: 04-status, attempts: 0}]\n", "attempts is 0: "},
		"the worst counts":     {"name: ops\nassignments: [{stage: 04-status, counts: worst}]\n", `counts is "worst": use last or best`},
		"a board without host": {"name: ops\nboard: here\nassignments: [{stage: 04-status}]\n", `the board "here" is not an address`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			write(t, test.yaml, c.Dir, class.File)
			_, err := class.Read(root, c.Dir)
			g.Expect(err).To(MatchError(And(HavePrefix(filepath.Join(c.Dir, class.File)+": "), ContainSubstring(test.want))))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
	g := NewWithT(t)
	write(t, "name: ''\nassignments: [{stage: 13-luck, attempts: -1}]\n", c.Dir, class.File)
	_, err := class.Read(root, c.Dir)
	g.Expect(strings.Split(fmt.Sprint(err), "\n")).To(HaveLen(3), "one sentence for each mistake")
	_, err = class.Read(root, t.TempDir())
	g.Expect(err).To(MatchError(ContainSubstring("is not the directory of a class, which has a class.yaml: make class-new DIR=")))
}

func TestRoster(t *testing.T) {
	const header = "id,name,email\n"
	c := newClass(t, "stage: 04-status")
	for name, test := range map[string]struct{ text, want string }{
		"odd names":         {"\ufeff" + header + "s-1.b,\"O'Neil, Zoë 王\",zoë@example.com\nS2,=cmd|' /C calc'!A0,\n", ""},
		"empty":             {header, ""},
		"nothing":           {"", "does not start with the line id,name,email,pair"},
		"other columns":     {"name,id,email\n", "does not start with the line id,name,email,pair"},
		"semicolons":        {"id;name;email\ns1;Ann;\n", "does not start with the line id,name,email,pair, separated by commas"},
		"Latin-1":           {header + "s1,Andr\xe9,\n", "is not in UTF-8"},
		"an open quote":     {header + "s1,\"Ann,\n", "is not CSV ("},
		"a missing field":   {header + "s1,Ann\n", "student 1: there are 2 fields: expected id,name,email"},
		"a field more":      {header + "s1,Ann,,a\n", "student 1: there are 4 fields: expected id,name,email"},
		"an id twice":       {header + "s1,Ann,\nS1,Bo,\n", "student 2: the id S1 is there twice"},
		"an email twice":    {header + "s1,Ann,a@b.de\ns2,Bo,A@b.de\n", "student 2: the email A@b.de is there twice"},
		"no id":             {header + ",Ann,\n", `student 1: the id "" can't be the name of a directory`},
		"a path":            {header + "../s1,Ann,\n", `the id "../s1" can't be the name of a directory`},
		"a hidden file":     {header + ".attempts,Ann,\n", `the id ".attempts" can't be the name of a directory`},
		"an option":         {header + "-rf,Ann,\n", `the id "-rf" can't be the name of a directory`},
		"an id with spaces": {header + "s 1,Ann,\n", `the id "s 1" can't be the name of a directory`},
		"no name":           {header + "s1, ,\n", `the name "" is empty`},
		"two lines":         {header + "s1,\"Ann\nBo\",\n", `the name "Ann\nBo" is empty, longer than 100 bytes or has invisible characters`},
		"not an email":      {header + "s1,Ann,Ann <a@b.de>\n", `the email "Ann <a@b.de>" is not an address`},
		"half a pair":       {"id,name,email,pair\ns1,Ann,,x\ns2,Bo,,\n", "s1 is the only student of the pair x"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			write(t, test.text, c.Dir, class.RosterFile)
			read, err := class.Read(root, c.Dir)
			if test.want != "" {
				g.Expect(err).To(MatchError(And(HavePrefix(filepath.Join(c.Dir, class.RosterFile)), ContainSubstring(test.want))))
				g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read.Students).To(HaveLen(strings.Count(test.text, "\n") - 1))
		})
	}
}

func TestSecret(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status")
	file := filepath.Join(c.Dir, class.SecretFile)
	secret, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(fs.FileMode(0o600)))
	g.Expect(string(secret)).To(MatchRegexp("^[0-9a-f]{64}\n$"))
	g.Expect(fmt.Sprintf("%+v %#v", c, *c)).NotTo(ContainSubstring(string(secret[:8])))

	g.Expect(os.Chmod(file, 0o640)).To(Succeed())
	_, err = class.Read(root, c.Dir)
	g.Expect(err).To(MatchError(ContainSubstring("can be read by others (mode 0640): type chmod 600 ")))
	g.Expect(os.Chmod(file, 0o600)).To(Succeed())
	write(t, "short", file)
	_, err = class.Read(root, c.Dir)
	g.Expect(err).To(MatchError(ContainSubstring("is shorter than 64 characters")))
	g.Expect(err.Error()).NotTo(HaveSuffix("short"))
	g.Expect(os.Remove(file)).To(Succeed())
	_, err = class.Read(root, c.Dir)
	g.Expect(err).To(MatchError(ContainSubstring("secret is missing: ")))
}

func TestSeed(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "{stage: 04-status, pairs: true}", "stage: 06-watches")
	write(t, strings.Repeat("0", 64), c.Dir, class.SecretFile)
	c, err := class.Read(root, c.Dir)
	g.Expect(err).NotTo(HaveOccurred())
	pairs, alone := c.Assignments[0], c.Assignments[1]
	seed := c.Seed(pairs, c.Students[0])
	g.Expect(seed).To(Equal(class.Seed{Text: "4637626397132305981", Number: 4637626397132305981}), "grades depend on it")
	g.Expect(c.Seed(pairs, c.Students[1])).To(Equal(seed), "a pair has one")
	different := map[string]bool{seed.Text: true}
	for _, s := range c.Students {
		different[c.Seed(alone, s).Text] = true
		different[c.Token(s)] = true
	}
	g.Expect(different).To(HaveLen(7))
	g.Expect(c.Token(c.Students[0])).To(MatchRegexp("^[0-9a-f]{32}$"))
}

func TestAdjustments(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status")
	g.Expect(c.Adjustments()).To(BeEmpty())
	write(t, "- {student: s01, stage: 04-status, points: -1.5, comment: Late by my fault.}\n- {student: s02, stage: 04-status, comment: Well done}\n",
		c.Dir, class.AdjustmentsFile)
	g.Expect(c.Adjustments()).To(Equal([]class.Adjustment{
		{Student: "s01", Assignment: "04-status", Points: -1.5, Comment: "Late by my fault."},
		{Student: "s02", Assignment: "04-status", Comment: "Well done"},
	}))
	for text, want := range map[string]string{
		"- {student: s09, stage: 04-status, points: 1}\n":                    "adjustment 1: there is no student s09 in the class ops: ",
		"- {student: s01, stage: 06-watches, points: 1}\n":                   `adjustment 1: the class has no stage "06-watches"`,
		"- {student: s01, points: 1}\n":                                      `adjustment 1: the class has no stage ""`,
		"- {student: s01, stage: 04-status}\n":                               "adjustment 1: it changes nothing",
		"- {student: s01, stage: 04-status, point: 1}\n":                     `unknown field "point"`,
		strings.Repeat("- {student: s01, stage: 04-status, points: 1}\n", 2): "adjustment 2: s01 has an adjustment for 04-status already",
		"- {student: s01, stage: 04-status, points: many}\n":                 "adjustments.yaml: ",
	} {
		write(t, text, c.Dir, class.AdjustmentsFile)
		_, err := c.Adjustments()
		g.Expect(err).To(MatchError(And(HavePrefix(filepath.Join(c.Dir, class.AdjustmentsFile)), ContainSubstring(want))), text)
		g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
	}
}

func TestNew(t *testing.T) {
	g := NewWithT(t)
	above := t.TempDir()
	dir := filepath.Join(above, "Größe: 30 #1")
	c, err := class.New(t.Context(), root, dir, "hands-off", "", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Name).To(Equal("Größe: 30 #1"))
	g.Expect(c.Assignments).To(HaveExactElements(And(HaveField("Lab", "hands-off"), HaveField("Due", BeTemporally("==", now.AddDate(0, 0, 7))))))
	info, err := os.Stat(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(fs.FileMode(0o700)), "nobody else reads it")
	for _, needsStudents := range []func() error{
		func() error {
			_, err := class.Handout(t.Context(), root, c, c.Assignments[0], class.Directories, simple)
			return err
		},
		func() error {
			_, err := class.Collect(t.Context(), root, c, c.Assignments[0], above, class.Directories, now)
			return err
		},
	} {
		g.Expect(needsStudents()).To(MatchError(HaveSuffix("roster.csv has no students: write a line with id,name,email for each")))
	}
	_, err = class.New(t.Context(), root, dir, "hands-off", "", now)
	g.Expect(err).To(MatchError(HaveSuffix("is not empty: name a new or empty directory")))
	_, err = class.New(t.Context(), root, filepath.Join(above, "b"), "", "", now)
	g.Expect(err).To(MatchError(HavePrefix("name what the class begins with, STAGE=NN-name or LAB=name: one of quickstart, 00-control-loop, ")))
	students := filepath.Join(t.TempDir(), "students.csv")
	write(t, roster+roster, students)
	_, err = class.New(t.Context(), root, filepath.Join(above, "b"), "03-api", "", now) // which is now 02-api
	g.Expect(err).To(MatchError("STAGE=03-api is now 02-api"))
	_, err = class.New(t.Context(), root, filepath.Join(above, "b"), "04-status", students, now)
	g.Expect(err).To(MatchError(ContainSubstring(students + ", student 7: the id s03 is there twice")))
	g.Expect(os.ReadDir(above)).To(HaveLen(1), "what fails leaves nothing behind")
}

// A class has names and grades, so it does not get into a repository by accident.
func TestNewInARepository(t *testing.T) {
	g := NewWithT(t)
	repository := t.TempDir()
	git(t, repository, "init", "--quiet")
	_, err := class.New(t.Context(), root, filepath.Join(repository, "a", "b"), "04-status", "", now)
	g.Expect(err).To(MatchError(ContainSubstring("is in a git repository, which could publish names and grades")))
	write(t, "/a/\n", repository, ".gitignore")
	_, err = class.New(t.Context(), root, filepath.Join(repository, "a", "b"), "04-status", "", now)
	g.Expect(err).NotTo(HaveOccurred())
	git(t, root, "check-ignore", "--quiet", "class/") // the default
}

// The whole way of a class, in each form.
func TestHandOutAndCollect(t *testing.T) {
	for form, suffix := range map[class.Form]string{class.Directories: "", class.Archives: ".tar.gz", class.Repositories: ".git"} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := newClass(t, "{stage: 04-status, attempts: 2, counts: best}")
			a := c.Assignments[0]
			g.Expect(class.Handout(t.Context(), root, c, a, form, simple)).To(Equal([]string{"s01", "s02", "s03"}))
			release := filepath.Join(c.Dir, class.Release, "04-status")
			// work changes the file of a student's copy, and hands it in.
			work := func(id, text string) {
				handed, home := filepath.Join(release, id+suffix), filepath.Join(t.TempDir(), id)
				switch form {
				case class.Directories:
					home = handed
				case class.Archives:
					g.Expect(os.Mkdir(home, 0o755)).To(Succeed())
					unpack := exec.CommandContext(t.Context(), "tar", "-xzf", handed)
					unpack.Dir = home
					g.Expect(unpack.Run()).To(Succeed())
					home = filepath.Join(home, id+"-04-status")
				case class.Repositories:
					git(t, ".", "clone", "--quiet", handed, home)
				}
				owner, err := os.ReadFile(filepath.Join(home, event.ClassFile))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(owner)).To(MatchRegexp("^board: http://192.168.1.10:8090\nclass: ops\nstudent: " + id + "\ntoken: [0-9a-f]{32}\n$"))
				write(t, text, home, "cmd", "main.go")
				switch form {
				case class.Archives:
					_, err := submission.Pack(root, home, filepath.Join(release, id+"-04-status.tar.gz"))
					g.Expect(err).NotTo(HaveOccurred())
				case class.Repositories:
					git(t, home, "commit", "--quiet", "--all", "--message=Work")
					git(t, home, "push", "--quiet")
				}
			}
			collect := func(at time.Time) []class.Collection {
				t.Helper()
				all, err := class.Collect(t.Context(), root, c, a, "", form, at)
				g.Expect(err).NotTo(HaveOccurred())
				return all
			}
			work("s01", "package main // first\n")
			g.Expect(os.RemoveAll(filepath.Join(release, "s03"+suffix))).To(Succeed())
			g.Expect(outcomes(collect(now))).To(Equal([]string{"s01 collected", "s02 not begun", "s03 missing"}))
			g.Expect(c.Attempts(a, c.Students[1])).To(BeEmpty())
			work("s02", "package main // once\n")
			g.Expect(outcomes(collect(now))).To(Equal([]string{"s01 unchanged", "s02 collected", "s03 missing"}))
			work("s01", "package main // second\n")
			later := now.Add(time.Hour)
			g.Expect(outcomes(collect(later))).To(Equal([]string{"s01 collected", "s02 unchanged", "s03 missing"}))
			work("s01", "package main // third\n")
			g.Expect(outcomes(collect(later.Add(time.Hour)))).To(Equal([]string{"s01 surplus", "s02 unchanged", "s03 missing"}))

			attempts, err := c.Attempts(a, c.Students[0])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(attempts).To(HaveExactElements(
				And(HaveField("Number", 1), HaveField("At", now), HaveField("Dir", filepath.Join(c.Dir, "submitted", "s01", ".attempts", "04-status", "1"))),
				And(HaveField("Number", 2), HaveField("At", later), HaveField("Dir", filepath.Join(c.Dir, "submitted", "s01", "04-status"))),
			))
			for i, text := range []string{"first", "second"} {
				g.Expect(os.ReadFile(filepath.Join(attempts[i].Dir, "cmd", "main.go"))).To(BeEquivalentTo("package main // " + text + "\n"))
				g.Expect(submission.Hash(attempts[i].Dir)).To(Equal(attempts[i].Submission))
				g.Expect(submission.Judge(root, attempts[i].Dir)).To(Succeed())
				if form == class.Repositories {
					g.Expect(attempts[i].Commit).NotTo(BeEmpty())
				} else {
					g.Expect(attempts[i].Commit).To(BeEmpty())
				}
			}
			g.Expect(a.Counting(attempts)).To(HaveLen(2))
			a.Counts = class.Last
			g.Expect(a.Counting(attempts)).To(Equal(attempts[1:]))
			unchanged, err := c.Attempts(a, c.Students[1])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(unchanged).To(HaveExactElements(HaveField("At", now)), "collecting again does not make it late")

			// Whoever comes later gets a copy, and nobody else loses one.
			g.Expect(class.Handout(t.Context(), root, c, a, form, simple)).To(Equal([]string{"s03"}))
		})
	}
}

// What is handed out is what make start and make break make, and nothing is wrong with handing it in once it is changed.
func TestHandOutAChapterAndALab(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status", "lab: hands-off")
	for _, a := range c.Assignments {
		g.Expect(class.Handout(t.Context(), root, c, a, class.Directories, nil)).To(HaveLen(3))
		all, err := class.Collect(t.Context(), root, c, a, "", class.Directories, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all).To(HaveEach(And(HaveField("Outcome", class.NotBegun), HaveField("Note", ""))))
		begin(t, c, a)
		all, err = class.Collect(t.Context(), root, c, a, "", class.Directories, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all).To(HaveEach(And(HaveField("Outcome", class.Collected), HaveField("Note", ""))))
	}
	g.Expect(os.ReadFile(filepath.Join(c.Dir, "submitted", "s02", "04-status", ".stage"))).To(BeEquivalentTo("04-status\n"))
	g.Expect(os.ReadFile(filepath.Join(c.Dir, "submitted", "s02", "hands-off", ".lab"))).To(BeEquivalentTo("hands-off\n"))
	g.Expect(filepath.Join(c.Dir, "submitted", "s02", "04-status", "internal", "controller")).To(BeADirectory())
	g.Expect(filepath.Join(c.Dir, "submitted", "s02", "04-status", event.ClassFile)).NotTo(BeAnExistingFile(), "tokens stay where they are")

	// Handed in as the other one.
	all, err := class.Collect(t.Context(), root, c, c.Assignments[0], filepath.Join(c.Dir, "release", "hands-off"), class.Directories, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveEach(HaveField("Note", "the copy was made for hands-off, and is graded as 04-status")))

	// Made before the chapter was renamed.
	made := filepath.Join(c.Dir, "release", "04-status")
	g.Expect(os.WriteFile(filepath.Join(made, "s01", ".stage"), []byte("05-status\n"), 0o600)).To(Succeed()) // which is now 04-status
	all, err = class.Collect(t.Context(), root, c, c.Assignments[0], made, class.Directories, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveEach(HaveField("Note", "")))
}

// A pair has one copy and hands in one submission, which both have then.
func TestPairs(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "{stage: 04-status, pairs: true}")
	a := c.Assignments[0]
	g.Expect(class.Handout(t.Context(), root, c, a, class.Directories, simple)).To(Equal([]string{"s01", "s03"}))
	begin(t, c, a)
	all, err := class.Collect(t.Context(), root, c, a, "", class.Directories, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes(all)).To(Equal([]string{"s01 collected", "s02 collected", "s03 collected"}))
	g.Expect(filepath.Join(c.Dir, "submitted", "s02", "04-status", "cmd", "main.go")).To(BeAnExistingFile())

	// The other one may hand in, too.
	from := t.TempDir()
	g.Expect(simple(t.Context(), filepath.Join(from, "s02-04-status"))).To(Succeed())
	write(t, "package main // by s02\n", from, "s02-04-status", "cmd", "main.go")
	all, err = class.Collect(t.Context(), root, c, a, from, class.Directories, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes(all)).To(Equal([]string{"s01 collected", "s02 collected", "s03 missing"}))
	g.Expect(os.ReadFile(filepath.Join(c.Dir, "submitted", "s01", "04-status", "cmd", "main.go"))).To(BeEquivalentTo("package main // by s02\n"))
}

// What is refused is recorded with the sentence, and keeps nobody else's from being collected.
func TestCollectRefuses(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "{stage: 04-status, attempts: 1}")
	a, from := c.Assignments[0], t.TempDir()
	g.Expect(simple(t.Context(), filepath.Join(from, "s01", "04-status"))).To(Succeed())
	g.Expect(os.Symlink("s01", filepath.Join(from, "s02"))).To(Succeed())
	g.Expect(simple(t.Context(), filepath.Join(from, "s03"))).To(Succeed())
	write(t, "go 1.26\n", from, "s03", "go.work")
	for _, outcome := range []string{"refused", "unchanged"} {
		all, err := class.Collect(t.Context(), root, c, a, from, class.Directories, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(outcomes(all)[1:]).To(Equal([]string{"s02 " + outcome, "s03 " + outcome}))
		g.Expect(all[1].Note).To(Equal("s02 is not a directory: hand in the directory of the copy"))
		g.Expect(all[2].Note).To(Equal("go.work would replace modules: delete it"))
	}
	attempts, err := c.Attempts(a, c.Students[2])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attempts).To(HaveExactElements(HaveField("Refused", "go.work would replace modules: delete it")))
	g.Expect(os.ReadDir(attempts[0].Dir)).To(HaveExactElements(HaveField("Name()", submission.CollectedFile)))

	g.Expect(os.Remove(filepath.Join(from, "s03", "go.work"))).To(Succeed())
	all, err := class.Collect(t.Context(), root, c, a, from, class.Directories, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes(all)[2]).To(Equal("s03 collected"), "what was refused does not use up an attempt")
	_, err = class.Collect(t.Context(), root, c, a, filepath.Join(from, "nowhere"), class.Directories, now)
	g.Expect(err).To(MatchError(ContainSubstring("name the one with what was handed in, FROM=directory")))
	_, err = class.Collect(t.Context(), root, c, a, from, "zip", now)
	g.Expect(err).To(MatchError(HavePrefix("AS=zip is unknown: use ")))
}

func TestLock(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status")
	a := c.Assignments[0]
	unlock, err := class.Lock(c.Dir, "make class-grade")
	g.Expect(err).NotTo(HaveOccurred())
	write(t, "unfinished", c.Dir, ".work", "x")
	held := MatchError(MatchRegexp(`^\S+ is being changed by make class-grade \(process %d, since \d\d:\d\d:\d\d\): wait for it to finish$`, os.Getpid()))
	_, err = class.Handout(t.Context(), root, c, a, class.Directories, simple)
	g.Expect(err).To(held)
	_, err = class.Collect(t.Context(), root, c, a, t.TempDir(), class.Directories, now)
	g.Expect(err).To(held)
	_, err = class.Forget(t.Context(), c.Dir)
	g.Expect(err).To(held)
	g.Expect(filepath.Join(c.Dir, ".work", "x")).To(BeAnExistingFile(), "the holder works there")
	unlock()
	g.Expect(class.Handout(t.Context(), root, c, a, class.Directories, simple)).To(HaveLen(3))
	g.Expect(filepath.Join(c.Dir, ".work")).NotTo(BeADirectory())

	write(t, "of one that was killed", c.Dir, ".work", "x")
	unlock, err = class.Lock(c.Dir, "make class-grade")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.Join(c.Dir, ".work")).NotTo(BeADirectory())
	unlock()
}

// countdown is a context that is canceled when it was looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever a command is interrupted, the same command does the rest, and in the end everything is there once.
func TestInterrupted(t *testing.T) {
	g := NewWithT(t)
	for left := range 5 {
		c := newClass(t, "stage: 04-status")
		a := c.Assignments[0]
		handed, err := class.Handout(&countdown{t.Context(), left}, root, c, a, class.Directories, simple)
		g.Expect(handed).To(HaveLen(min(left, 3)))
		collected, collectErr := class.Collect(&countdown{t.Context(), left}, root, c, a, t.TempDir(), class.Directories, now)
		g.Expect(collected).To(HaveLen(min(left, 3)))
		if left < 3 {
			interrupted := MatchError("context canceled: what was finished is kept, and the same command does the rest")
			g.Expect(err).To(interrupted)
			g.Expect(collectErr).To(interrupted)
		}
		rest, err := class.Handout(t.Context(), root, c, a, class.Directories, simple)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(append(handed, rest...)).To(Equal([]string{"s01", "s02", "s03"}))
		begin(t, c, a)
		_, _ = class.Collect(&countdown{t.Context(), left}, root, c, a, "", class.Directories, now)
		_, err = class.Collect(t.Context(), root, c, a, "", class.Directories, now.Add(time.Hour))
		g.Expect(err).NotTo(HaveOccurred())
		for i, s := range c.Students {
			attempts, err := c.Attempts(a, s)
			g.Expect(err).NotTo(HaveOccurred())
			at := now
			if i >= left {
				at = now.Add(time.Hour)
			}
			g.Expect(attempts).To(HaveExactElements(HaveField("At", at)))
		}
	}
}

// A process that is killed between the two steps of keeping an attempt has lost none.
func TestKilledWhileKeeping(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status")
	a, from := c.Assignments[0], t.TempDir()
	copied := filepath.Join(from, "s01")
	g.Expect(simple(t.Context(), copied)).To(Succeed())
	collect := func(outcome class.Outcome) {
		t.Helper()
		all, err := class.Collect(t.Context(), root, c, a, from, class.Directories, now)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(all[0].Outcome).To(Equal(outcome))
	}
	collect(class.Collected)
	current, older := filepath.Join(c.Dir, "submitted", "s01", "04-status"), filepath.Join(c.Dir, "submitted", "s01", ".attempts", "04-status", "1")
	g.Expect(os.MkdirAll(filepath.Dir(older), 0o755)).To(Succeed())
	g.Expect(os.Rename(current, older)).To(Succeed())
	collect(class.Unchanged)
	write(t, "package main // second\n", copied, "cmd", "main.go")
	collect(class.Collected)
	attempts, err := c.Attempts(a, c.Students[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attempts).To(HaveExactElements(
		And(HaveField("Number", 1), HaveField("Dir", older)), And(HaveField("Number", 2), HaveField("Dir", current)),
	))
}

func TestFullDisk(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status")
	_, err := class.Handout(t.Context(), root, c, c.Assignments[0], class.Directories, func(context.Context, string) error {
		return &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
	})
	g.Expect(err).To(MatchError(HavePrefix("the disk is full: free some space and type the same again; what was finished is kept (")))
	g.Expect(class.Handout(t.Context(), root, c, c.Assignments[0], class.Directories, simple)).To(HaveLen(3))
}

func TestForget(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status")
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, "stays", outside)
	_, err := class.Handout(t.Context(), root, c, c.Assignments[0], class.Directories, simple)
	g.Expect(err).NotTo(HaveOccurred())
	begin(t, c, c.Assignments[0])
	_, err = class.Collect(t.Context(), root, c, c.Assignments[0], "", class.Directories, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Symlink(filepath.Dir(outside), filepath.Join(c.Dir, class.Submitted, "link"))).To(Succeed())
	write(t, "[]", c.Dir, class.AdjustmentsFile)
	write(t, "broken", c.Dir, class.RosterFile)

	removed, err := class.Forget(t.Context(), c.Dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(removed).To(ContainElements(filepath.Join(c.Dir, class.RosterFile), filepath.Join(c.Dir, class.AdjustmentsFile),
		filepath.Join(c.Dir, class.Submitted)+" (4 in it)", filepath.Join(c.Dir, class.Release)+" (1 in it)"))
	left, err := os.ReadDir(c.Dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(HaveExactElements(HaveField("Name()", ".lock"), HaveField("Name()", class.File), HaveField("Name()", class.SecretFile)))
	g.Expect(outside).To(BeAnExistingFile())

	elsewhere := t.TempDir()
	write(t, roster, elsewhere, class.RosterFile)
	_, err = class.Forget(t.Context(), elsewhere)
	g.Expect(err).To(MatchError(ContainSubstring("is not the directory of a class, which has a class.yaml: nothing was removed")))
	g.Expect(filepath.Join(elsewhere, class.RosterFile)).To(BeAnExistingFile())
}

// What was handed in and not collected is named, with the reason.
func TestLeftOver(t *testing.T) {
	g := NewWithT(t)
	c := newClass(t, "stage: 04-status", "lab: hands-off")
	from := t.TempDir()
	for _, directory := range []string{"s01", "S02", "s03-hands-off", "s01-04-status", "guest"} {
		g.Expect(os.Mkdir(filepath.Join(from, directory), 0o755)).To(Succeed())
	}
	for _, file := range []string{"s02.zip", "s03.tar.gz", "s01.tar.gz", "notes.txt", ".DS_Store", "s02"} {
		write(t, "x", from, file)
	}
	g.Expect(os.Remove(filepath.Join(from, "s02"))).To(Succeed())
	left, err := c.LeftOver(c.Assignments[0], from, class.Directories)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(Equal([]class.LeftOver{
		{"S02", "the roster writes the id s02: rename it"},
		{"guest", "no student has the id guest"},
		{"notes.txt", "no student has the id notes.txt"},
		{"s01", "s01-04-status was taken for s01"},
		{"s01.tar.gz", "s01-04-status was taken for s01"},
		{"s02.zip", "it is not what make submit makes: ask for that, or unpack it and collect with AS=" + string(class.Directories)},
		{"s03-hands-off", "it is for hands-off: collect it with the STAGE or LAB of that"},
		{"s03.tar.gz", "AS=" + string(class.Directories) + " does not take it: collect with AS=" + string(class.Archives)},
	}))
	left, err = c.LeftOver(c.Assignments[0], from, class.Archives)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left).To(ContainElements(
		class.LeftOver{Name: "s01", Reason: "s01.tar.gz was taken for s01"},
		class.LeftOver{Name: "s02.zip", Reason: "it is not what make submit makes: ask for that, or unpack it and collect with AS=" + string(class.Directories)},
	))
}
