package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/tier"
)

// labProgram is the program with the command lab, compiled as people have it.
type labProgram struct {
	*WithT

	t    *testing.T
	path string
	// before is what to put before its command line.
	before []string
	// temporary is its directory for temporary files, and has nothing else.
	temporary string
}

// newProgram compiles it.
func newProgram(t *testing.T) *labProgram {
	t.Helper()
	work := t.TempDir()
	p := &labProgram{WithT: NewWithT(t), t: t, path: filepath.Join(work, "testbed"), temporary: filepath.Join(work, "tmp")}
	p.Expect(os.Mkdir(p.temporary, 0o755)).To(Succeed())
	p.Expect(runner.Build(t.Context(), repository, "./e2e/cmd/testbed", p.path)).To(Succeed())
	return p
}

// command is the program in the repository, with these arguments.
func (p *labProgram) command(ctx context.Context, arguments ...string) *exec.Cmd {
	line := append(append([]string{}, p.before...), p.path, "lab")
	line = append(line, arguments...)
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir, command.Env = repository, append(os.Environ(), "TMPDIR="+p.temporary)
	return command
}

// run runs it, and returns its exit code and what it prints. The test prints that at once, so that it is seen to get on.
func (p *labProgram) run(arguments ...string) (exit int, out string) {
	p.t.Helper()
	var text strings.Builder
	command := p.command(p.t.Context(), arguments...)
	command.Stdout = io.MultiWriter(&text, p.t.Output())
	command.Stderr = command.Stdout
	err := command.Run()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		p.t.Fatal(err)
	} else if err != nil {
		exit = exited.ExitCode()
	}
	return exit, text.String()
}

// does runs it, and it must succeed.
func (p *labProgram) does(arguments ...string) string {
	p.t.Helper()
	exit, out := p.run(arguments...)
	p.Expect(exit).To(BeZero(), "%q: %s", arguments, out)
	return out
}

// newClass makes a class of so many students, s01 and on, to whom the chapter is handed out.
func (p *labProgram) newClass(stage string, students int) string {
	p.t.Helper()
	work := p.t.TempDir()
	roster, dir := filepath.Join(work, "roster.csv"), filepath.Join(work, "class")
	text := "id,name,email\n"
	for i := range students {
		text += fmt.Sprintf("s%02d,Student %[1]d,\n", i+1)
	}
	p.Expect(os.WriteFile(roster, []byte(text), 0o600)).To(Succeed())
	p.does("class", "new", "--dir="+dir, "--stage="+stage, "--from="+roster)
	p.does("class", "handout", "--dir="+dir)
	return dir
}

// begin makes a submission in which none of the tasks is done: what was handed out, and a file, because without a change it is not graded.
func (p *labProgram) begin(handedOut, submission string) {
	p.t.Helper()
	p.Expect(os.CopyFS(submission, os.DirFS(handedOut))).To(Succeed())
	p.Expect(os.WriteFile(filepath.Join(submission, "notes.txt"), []byte("Where do I start?\n"), 0o600)).To(Succeed())
}

// replace changes a file of a copy.
func (p *labProgram) replace(file, before, after string) {
	p.t.Helper()
	text, err := os.ReadFile(file)
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(string(text)).To(ContainSubstring(before))
	p.Expect(os.WriteFile(file, []byte(strings.Replace(string(text), before, after, 1)), 0o600)).To(Succeed())
}

// copyClass returns a copy of a class.
func (p *labProgram) copyClass(dir string) string {
	p.t.Helper()
	copied := filepath.Join(p.t.TempDir(), "class")
	out, err := exec.CommandContext(p.t.Context(), "cp", "-a", dir, copied).CombinedOutput()
	p.Expect(err).NotTo(HaveOccurred(), "%s", out)
	return copied
}

// graded returns all that grading has written to a class, without logs and without what is volatile.
func (p *labProgram) graded(dir string) map[string]string {
	p.t.Helper()
	all := map[string]string{}
	for _, within := range []string{"graded", "feedback"} {
		p.Expect(fs.WalkDir(os.DirFS(dir), within, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".log") || strings.Contains(path, ".calibration/") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(dir, path))
			if strings.HasSuffix(path, ".json") {
				var result map[string]any
				err = errors.Join(err, json.Unmarshal(text, &result))
				delete(result, "volatile")
				text, _ = json.MarshalIndent(result, "", "  ")
			}
			all[path] = string(text)
			return err
		})).To(Succeed())
	}
	return all
}

// same compares what grading has written twice, file by file.
func (p *labProgram) same(got, want map[string]string, how string) {
	p.t.Helper()
	p.Expect(slices.Sorted(maps.Keys(got))).To(Equal(slices.Sorted(maps.Keys(want))), how)
	for file, text := range want {
		p.Expect(got[file]).To(Equal(text), "%s: %s", how, file)
	}
}

// TestGradingAClassForReal grades a class of six with the program itself: one at a time and four at once, twice in a row, interrupted
// and resumed, and with a second grader at the same time. What comes of it is the same, byte by byte.
func TestGradingAClassForReal(t *testing.T) {
	tier.Nightly(t)
	p := newProgram(t)
	const stage = "01-custom-resource"
	dir, handedIn := p.newClass(stage, 7), t.TempDir()
	for _, id := range []string{"s01", "s04"} {
		p.does("solution", "--stage="+stage, "--dir="+filepath.Join(handedIn, id))
	}
	for _, id := range []string{"s02", "s03"} {
		p.begin(filepath.Join(dir, "release", stage, id), filepath.Join(handedIn, id))
	}
	p.Expect(os.Mkdir(filepath.Join(handedIn, "s05"), 0o755)).To(Succeed())
	p.does("solution", "--stage="+stage, "--dir="+filepath.Join(handedIn, "s06"))
	p.replace(filepath.Join(handedIn, "s06", "config", "crd", "extended.yaml"), "kind: CustomResourceDefinition", "kind: ClusterRole")
	out := p.does("class", "collect", "--dir="+dir, "--from="+handedIn)
	p.Expect(out).To(ContainSubstring("5 collected, 0 unchanged, 1 refused, 0 surplus, 0 not begun, 1 missing (s07)"))
	fourAtOnce, interrupted := p.copyClass(dir), p.copyClass(dir)

	// While one grades, nobody else does.
	one := p.start("grade", "--dir="+dir, "--at-once=1")
	one.until("grading the solution of " + stage + " first")
	exit, out := p.run("grade", "--dir="+dir, "--at-once=1")
	p.Expect(exit).NotTo(BeZero())
	p.Expect(out).To(MatchRegexp(`(?m)^testbed: %s is being changed by make class-grade \(process %d, since \d\d:\d\d:\d\d\): wait for it to finish\n$`,
		regexp.QuoteMeta(dir), one.command.Process.Pid))
	p.Expect(one.wait()).To(Succeed(), "%s", one.out())
	want := p.graded(dir)
	for id, score := range map[string]string{"s01": "3", "s02": "1", "s03": "1", "s04": "3", "s05": "0", "s06": "0"} {
		p.Expect(want["graded/"+id+"/"+stage+".json"]).To(ContainSubstring(`"score": `+score+",\n"), "%s: %s", id, one.out())
	}

	p.does("grade", "--dir="+fourAtOnce, "--at-once=4")
	p.same(p.graded(fourAtOnce), want, "four at once")

	// Ctrl-C: what is finished stays as it is, and is not graded again.
	first := p.start("grade", "--dir="+interrupted, "--at-once=1")
	first.until("s02: ")
	p.Expect(first.command.Process.Signal(os.Interrupt)).To(Succeed())
	p.Expect(first.wait()).NotTo(Succeed())
	p.Expect(first.out()).To(MatchRegexp(`\ntestbed: stopped by Ctrl-C: \d of 6 are graded; run it again for the others[^\n]*\n$`))
	p.Expect(os.ReadDir(p.temporary)).To(BeEmpty(), "temporary files are left")
	finished := p.attempts(interrupted)
	p.Expect(len(finished)).To(And(BeNumerically(">=", 2), BeNumerically("<", 6)))
	out = p.does("grade", "--dir="+interrupted, "--at-once=1")
	p.Expect(out).To(ContainSubstring(fmt.Sprintf(", %d kept, ", len(finished))))
	for file, text := range p.attempts(interrupted) {
		if before, was := finished[file]; was {
			p.Expect(text).To(Equal(before), "%s was graded again", file)
		}
	}
	p.same(p.graded(interrupted), want, "interrupted and resumed")

	// Twice in a row, from nothing.
	p.Expect(errors.Join(os.RemoveAll(filepath.Join(dir, "graded")), os.RemoveAll(filepath.Join(dir, "feedback")))).To(Succeed())
	p.does("grade", "--dir="+dir, "--at-once=1")
	p.same(p.graded(dir), want, "again")
}

// attempts returns the results of a class by their files, as they are.
func (p *labProgram) attempts(dir string) map[string]string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "graded", "*", ".attempts", "*", "*.json"))
	p.Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		p.Expect(err).NotTo(HaveOccurred())
		all[file] = string(text)
	}
	return all
}

// started is the program while it runs.
type started struct {
	t       *testing.T
	command *exec.Cmd
	lines   *bufio.Scanner
	text    bytes.Buffer
}

func (p *labProgram) start(arguments ...string) *started {
	p.t.Helper()
	s := &started{t: p.t, command: p.command(p.t.Context(), arguments...)}
	out, err := s.command.StdoutPipe()
	p.Expect(err).NotTo(HaveOccurred())
	s.command.Stderr = s.command.Stdout
	s.lines = bufio.NewScanner(out)
	p.Expect(s.command.Start()).To(Succeed())
	return s
}

// until returns when a line was printed that begins so.
func (s *started) until(prefix string) {
	s.t.Helper()
	for s.lines.Scan() {
		fmt.Fprintln(&s.text, s.lines.Text())
		if strings.HasPrefix(s.lines.Text(), prefix) {
			return
		}
	}
	s.t.Fatalf("it exited without %q: %v\n%s", prefix, s.command.Wait(), &s.text)
}

// wait returns when it has exited.
func (s *started) wait() error {
	for s.lines.Scan() {
		fmt.Fprintln(&s.text, s.lines.Text())
	}
	return s.command.Wait()
}

func (s *started) out() string { return s.text.String() }
