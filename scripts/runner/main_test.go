package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/scripts/runner/plan"
	"github.com/example/operator-testbed/scripts/runner/process"
)

// Variables that make the test's executable the program itself: with its own arguments, or with a plan of one part for sh.
const (
	asProgram = "RUNNER_TEST_AS_PROGRAM"
	asPlan    = "RUNNER_TEST_PLAN"
)

func TestMain(m *testing.M) {
	process.Become()
	if script := os.Getenv(asPlan); script != "" {
		root, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		p := plan.Plan{Name: "this", Parts: []plan.Part{{Name: "waiting", Command: []string{"sh", "-c", script}}}}
		code, err := attended(func(stop stopping, guard *process.Guard) (int, error) { return runPlan(stop, guard, root, p) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is the program, in an empty directory, with more variables.
func program(t *testing.T, variables []string, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], arguments...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), asProgram+"=yes", "TESTBED_FAILURES=", "TESTBED_ARTIFACTS="+t.TempDir(), "TERM=dumb")
	cmd.Env = append(cmd.Env, variables...)
	return cmd
}

// catchable lets the programs that a test starts catch each signal. What is ignored here is ignored there, as SIGHUP under nohup. What is
// caught here, a child begins with in its default disposition.
func catchable() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// TestSignals stops a program that runs a command, or a plan, in each way. The command ends, with what that has started.
func TestSignals(t *testing.T) {
	t.Parallel()
	catchable()
	const plain = "sleep 1000 & echo started; wait" // a shell's background job ignores SIGINT
	const trap = "trap 'echo cleaned up; exit 1' INT; echo started; while :; do sleep 0.1; done"
	for name, test := range map[string]struct {
		variables, arguments []string
		want                 string
	}{
		"a command":                 {nil, []string{"progress", "working", "sh", "-c", plain}, ``},
		"a command that cleans up":  {nil, []string{"progress", "working", "sh", "-c", trap}, `cleaned up\n`},
		"a plan":                    {[]string{asPlan + "=" + plain}, nil, `\n +\d+ s +\d+ s CPU  stopped      waiting\n.* failed +this in all\n`},
		"a plan's part, in a shell": {[]string{asPlan + "=" + trap}, nil, `cleaned up\n\n +\d+ s +\d+ s CPU  stopped      waiting\n.* failed +this in all\n`},
	} {
		for sig, code := range map[syscall.Signal]int{
			syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGKILL: -1, // ended by the signal itself
		} {
			t.Run(name+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				cmd := program(t, test.variables, test.arguments...)
				stdout, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				said := bufio.NewReader(stdout)
				for line := ""; line != "started\n"; {
					if line, err = said.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				rest, err := io.ReadAll(said) // until every process that could write it has ended
				if err != nil {
					t.Error(err)
				}
				_ = cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != code {
					t.Errorf("expected exit code %d, got %d", code, got)
				}
				if sig != syscall.SIGKILL && !regexp.MustCompile("^"+test.want+"$").Match(rest) {
					t.Errorf("expected\n%s\ngot\n%s", test.want, rest)
				}
			})
		}
	}
}

// TestHangup hangs the program and what it runs up where nohup has hangups ignored.
func TestHangup(t *testing.T) {
	t.Parallel()
	goOn := filepath.Join(t.TempDir(), "go-on")
	cmd := program(t, nil)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh", os.Args[0], "progress", "working",
		"sh", "-c", "echo $$; until [ -e '" + goOn + "' ]; do sleep 0.1; done; echo finished"}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(stdout)
	said.Scan()
	job, err := strconv.Atoi(said.Text())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{cmd.Process.Pid, job} {
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said.Scan(); said.Text() != "finished" {
		t.Errorf("expected that a command under nohup finishes after a hangup, it said %q", said.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestProgress runs commands. What takes longer than a second shows that it is running; stdout and the exit code are the command's own, and
// what it has printed to stderr comes last, without what was only progress.
func TestProgress(t *testing.T) {
	t.Parallel()
	const line = ` +\d+ s  working \.\.\.`
	for name, test := range map[string]struct {
		command        string // with the path of its standard error as $1
		code           int
		stdout, stderr string
	}{
		"quick": {"echo result", 0, "result\n", ``},
		"slow": {
			// Where the shell takes long to start, there are lines before it prints anything.
			`echo "downloading a" >&2; until grep -q '(downloading a)' "$1"; do sleep 0.1; done; echo "downloading b" >&2; echo result; echo "it is slow" >&2`,
			0, "result\n", `(?:` + line + `\n)*` + line + ` \(downloading a\)\n(?:` + line + `.*\n)*it is slow\n`,
		},
		"fails":     {`echo "go: downloading example.com v1.0.0" >&2; echo "it broke" >&2; exit 7`, 7, "", `(?:` + line + `.*\n)*it broke\n`},
		"is killed": {`kill -9 $$`, 137, "", `(?:` + line + `.*\n)*`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := filepath.Join(t.TempDir(), "said")
			stderr, err := os.Create(said)
			if err != nil {
				t.Fatal(err)
			}
			defer stderr.Close()
			cmd := program(t, nil, "progress", "working", "sh", "-c", test.command, "sh", said)
			cmd.Stderr = stderr
			stdout, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != test.code || string(stdout) != test.stdout {
				t.Errorf("expected exit code %d and %q, got %v and %q", test.code, test.stdout, err, stdout)
			}
			got, err := os.ReadFile(said)
			if err != nil {
				t.Fatal(err)
			}
			if want := test.stderr; !regexp.MustCompile("^"+want+"$").Match(got) && name != "quick" || strings.Contains(string(got), "result") {
				t.Errorf("expected\n%s\non stderr, got\n%s", want, got)
			}
		})
	}
}

// TestNestedEvents runs a plan within a part of another one: its events are among those of the other.
func TestNestedEvents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events")
	const event = `{"Action":"pass","Package":"a"}`
	cmd := program(t, []string{"TESTBED_EVENTS=" + path, asPlan + "=" + "echo '" + event + `' >"$TESTBED_EVENTS"`})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != event+"\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// Runs at the same time, such as those of two clones, do not share a directory. A later run empties it.
func TestClaim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "junit", "test")
	first, release, err := claim(path)
	if err != nil || first != path {
		t.Fatalf("%s, %v", first, err)
	}
	if err := os.WriteFile(filepath.Join(first, "a.xml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second, releaseSecond, err := claim(path)
	if err != nil || second != path+"-2" {
		t.Fatalf("%s, %v", second, err)
	}
	defer releaseSecond()
	release()
	third, releaseThird, err := claim(path)
	if err != nil || third != path {
		t.Fatalf("%s, %v", third, err)
	}
	defer releaseThird()
	if left, err := os.ReadDir(third); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestBadUse(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{}, {"nothing"}, {"progress", "only"}, {"gotest", "what", "."}, {"e2e", "a", "b"}} {
		out, err := program(t, nil, arguments...).CombinedOutput()
		if exit, is := errors.AsType[*exec.ExitError](err); !is || exit.ExitCode() != exitUsage || !strings.HasPrefix(string(out), "scripts/run: give one of ci, e2e, e2e-all, e2e-sdk, nightly, rest, test, test-all") {
			t.Errorf("%q: %v\n%s", arguments, err, out)
		}
	}
	out, err := program(t, []string{"CLUSTER=existing"}, "e2e", "-part=nothing").CombinedOutput()
	if want := `scripts/run: make e2e has no part "nothing": use one of "the suites on existing"`; err == nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v\n%s\nexpected %s", err, out, want)
	}
}

// make nightly passes on PART whether or not it is set.
func TestEmptyPart(t *testing.T) {
	t.Parallel()
	all, err := choose(filepath.Join("..", ".."), "nightly", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := choose(filepath.Join("..", ".."), "nightly", []string{"-part="})
	if err != nil || len(got.Parts) != len(all.Parts) || len(all.Parts) == 0 {
		t.Errorf("got %d parts, %v; expected %d", len(got.Parts), err, len(all.Parts))
	}
}

// TestFailures runs a plan whose part writes where the evidence of a failure is. The last line says so, once, and the path of the file is the
// same at each run, unless two run at the same time.
func TestFailures(t *testing.T) {
	t.Parallel()
	const script = `echo "What was seen of a failure: /a/directory" >>"$TESTBED_FAILURES"; echo "$TESTBED_FAILURES $TESTBED_WATCHED"; exit 1`
	root := t.TempDir()
	run := func(script string, variables ...string) string {
		t.Helper()
		cmd := program(t, append(variables, asPlan+"="+script))
		cmd.Dir = root
		out, err := cmd.Output()
		if err == nil {
			t.Error("expected a failure")
		}
		return string(out)
	}
	const last = " in all\nWhat was seen of a failure: /a/directory\n"
	first := run(script)
	path := filepath.Join(root, "bin", "run", "failures")
	if !strings.HasSuffix(first, last) || !strings.Contains(first, "\n"+path+" yes\n") {
		t.Errorf("the output is\n%s", first)
	}
	if second := run(script); !strings.HasSuffix(second, last) || !strings.Contains(second, "\n"+path+" yes\n") || strings.Count(second, "What was seen") != 1 {
		t.Errorf("the second time, the output is\n%s", second)
	}
	// The program that has started this one prints it.
	file := filepath.Join(t.TempDir(), "failures")
	if inner := run(script, "TESTBED_FAILURES="+file, watchedVariable+"=yes"); strings.Contains(inner, "What was seen") || !strings.Contains(inner, "\n"+file+" yes\n") {
		t.Errorf("inside of another run, the output is\n%s", inner)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	both := run(fmt.Sprintf(`TESTBED_FAILURES= %s='echo "inner $TESTBED_FAILURES"; exit 1' '%s'`, asPlan, self))
	if want := "inner " + filepath.Join(root, "bin", "run-2", "failures") + "\n"; !strings.Contains(both, want) {
		t.Errorf("expected %q, because another run has the first file, in\n%s", want, both)
	}
}

// TestLastLines reads the events of two parts, of which one runs what the other leaves to it.
func TestLastLines(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, lines ...string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := write("first.json", `{"Action":"attr","Package":"a","Test":"TestA","Key":"testbed.tier","Value":"all"}`, `{"Action":"skip","Package":"a","Test":"TestA"}`,
		`{"Action":"attr","Package":"a","Test":"TestN","Key":"testbed.tier","Value":"nightly"}`, `{"Action":"skip","Package":"a","Test":"TestN"}`)
	second := write("second.json", `{"Action":"attr","Package":"a","Test":"TestA","Key":"testbed.proves","Value":"block 3"}`, `{"Action":"pass","Package":"a","Test":"TestA"}`)
	lines, err := lastLines(plan.Plan{Tiers: []string{"test", "all"}}, []string{first, second})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Left to make nightly: a TestN", "Proven: 1 test and 3 blocks."}; len(lines) != 3 || !slices.Equal(lines[:2], want) || !strings.HasPrefix(lines[2], "Not proven: ") {
		t.Errorf("got %q, expected %q and what is not proven", lines, want)
	}

	lines, err = lastLines(plan.Plan{Tiers: []string{"test"}, Partial: true, Chapter: true}, []string{first, second})
	if err != nil || len(lines) == 0 || lines[len(lines)-1] != "Proven: 1 test and 3 blocks." {
		t.Errorf("of a chapter, the last lines are %q, %v", lines, err)
	}

	odd := write("odd.json", `{"Action":"output","Package":"a","Test":"TestOdd","Output":"    a_test.go:1: there is no moon\n"}`, `{"Action":"skip","Package":"a","Test":"TestOdd"}`)
	lines, err = lastLines(plan.Plan{Tiers: []string{"test"}}, []string{odd})
	if err == nil || !strings.Contains(err.Error(), "tests were skipped that e2e/tier/summary/skips.go does not list: 1") || !strings.Contains(err.Error(), "a TestOdd: there is no moon") || len(lines) != 3 {
		t.Errorf("got %q, %v", lines, err)
	}
	for _, p := range []plan.Plan{{}, {Tiers: []string{"test"}}} {
		if lines, err := lastLines(p, nil); err != nil || lines != nil {
			t.Errorf("without events, the last lines are %q, %v", lines, err)
		}
	}
}
