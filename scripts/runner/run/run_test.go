package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/scripts/runner/plan"
	"github.com/example/operator-testbed/scripts/runner/process"
	"github.com/example/operator-testbed/scripts/runner/run"
)

func TestMain(m *testing.M) {
	process.Become()
	os.Exit(m.Run())
}

// lockedBuffer is what several parts print to.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// scenario is where a plan runs.
type scenario struct {
	run.Options
	out, progress *lockedBuffer
}

func newScenario(t *testing.T) *scenario {
	t.Helper()
	guard, err := process.NewGuard(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close() })
	w := &scenario{out: &lockedBuffer{}, progress: &lockedBuffer{}}
	w.Options = run.Options{
		Root: t.TempDir(), Module: "example.com/m", Out: w.out, Progress: w.progress, Guard: guard, Results: filepath.Join(t.TempDir(), "results"),
		Env: os.Environ(), Quiet: time.Hour, Grace: time.Minute,
	}
	return w
}

// sh is a part that runs a shell.
func sh(name, script string) plan.Part {
	return plan.Part{Name: name, Command: []string{"sh", "-c", script}}
}

// run runs the parts one after another.
func (w *scenario) run(parts ...plan.Part) int {
	code, _ := run.Run(context.Background(), plan.Plan{Name: "this", Parts: parts}, w.Options)
	return code
}

// expect compares what was printed with a regular expression.
func (w *scenario) expect(t *testing.T, want string) {
	t.Helper()
	if got := w.out.String(); !regexp.MustCompile(`(?s)^` + want + `$`).MatchString(got) {
		t.Errorf("expected\n%s\ngot\n%s", want, got)
	}
}

// The parts run one after another until one fails, and a table shows what each took.
func TestTable(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	busy := "sh -c 'ulimit -t 2; while :; do :; done'; true"
	if code := w.run(sh("quick", "echo hello; echo world >&2"), sh("busy", busy), sh("bad", "exit 3"), sh("never", "echo never")); code != 3 {
		t.Errorf("expected the exit code of the part that failed, got %d", code)
	}
	w.expect(t, `
== quick
(?:hello
world|world
hello)

== busy
.*
== bad

 +\d+ s +0 s CPU  ok           quick
 +\d+ s +[12] s CPU  ok           busy
 +\d+ s +0 s CPU  failed \(3\)   bad
 +\d+ s +[12] s CPU  failed       this in all
`)
	if strings.Contains(w.out.String(), "never") {
		t.Error("a part ran after one that failed")
	}
}

// A part runs after those that it needs, in its directory, with its environment, inside of a command, and with what others have set.
func TestPart(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	if err := os.Mkdir(filepath.Join(w.Root, "a directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	part := sh("part", `echo "$PWD $ALL $OWN $SET $WRAPPED"`)
	part.Dir, part.Env, part.In, part.Needs = "a directory", []string{"OWN=own"}, []string{"env", "WRAPPED=wrapped"}, []string{"sets"}
	sets := sh("sets", "echo one; echo two words")
	sets.Sets = "SET"
	code, _ := run.Run(context.Background(), plan.Plan{Name: "this", Env: []string{"ALL=all", "OWN=not"}, AtOnce: 2, Parts: []plan.Part{sets, part}}, w.Options)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if want := "\n== part\n" + filepath.Join(w.Root, "a directory") + " all own two words wrapped\n"; !strings.Contains(w.out.String(), want) {
		t.Errorf("expected %q in\n%s", want, w.out)
	}
}

// side returns two parts. The first runs until it is interrupted, and the second fails as soon as the first runs.
func side(t *testing.T) (stays, fails plan.Part) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "runs")
	stays = sh("stays", `trap 'echo "interrupted"; exit 130' INT; echo "     1 s  testing stays ... (TestOne)"; >'`+pipe+`'; while :; do sleep 0.1; done`)
	fails = sh("fails", `until [ -e '`+pipe+`' ]; do sleep 0.1; done; echo "no success" >&2; exit 3`)
	return stays, fails
}

// What runs side by side is shown when it ends, and interrupted when another one fails, whose exit code counts.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	stays, fails := side(t)
	code, _ := run.Run(context.Background(), plan.Plan{Name: "this", AtOnce: 2, Parts: []plan.Part{sh("quick", "echo here"), stays, fails, sh("never", "true")}}, w.Options)
	if code != 3 {
		t.Errorf("expected exit code 3, got %d", code)
	}
	w.expect(t, `
== quick
here

== fails
no success

== stays
interrupted

 +\d+ s +0 s CPU  ok           quick
 +\d+ s +\d+ s CPU  stopped      stays
 +\d+ s +\d+ s CPU  failed \(3\)   fails
 +\d+ s +\d+ s CPU  failed       this in all
`)
}

// As many parts run at the same time as the plan says, and never more.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	var mu sync.Mutex
	running, most := 0, 0
	two := make(chan struct{}) // closed when two have run at the same time
	p := plan.Plan{Name: "this", AtOnce: 2}
	for i := range 8 {
		p.Parts = append(p.Parts, plan.Part{Name: fmt.Sprint(i), Do: func(context.Context, io.Writer) error {
			mu.Lock()
			running++
			if running == 2 && most < 2 {
				close(two)
			}
			most = max(most, running)
			mu.Unlock()
			<-two
			<-time.After(100 * time.Millisecond) // so that one more would be seen
			mu.Lock()
			defer mu.Unlock()
			running--
			return nil
		}})
	}
	if code, _ := run.Run(context.Background(), p, w.Options); code != 0 || most != 2 {
		t.Errorf("exit code %d, at most %d at once\n%s", code, most, w.out)
	}
}

// A part runs when those that it needs have ended, whatever else still runs.
func TestNeeds(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	var mu sync.Mutex
	ended := map[string]bool{}
	late := make(chan struct{}) // closed by the part that needs a
	part := func(name string, needs ...string) plan.Part {
		return plan.Part{Name: name, Needs: needs, Do: func(context.Context, io.Writer) error {
			mu.Lock()
			for _, need := range needs {
				if !ended[need] {
					t.Errorf("%s runs before %s has ended", name, need)
				}
			}
			mu.Unlock()
			switch name {
			case "needs a":
				close(late)
			case "beside":
				<-late
			}
			mu.Lock()
			defer mu.Unlock()
			ended[name] = true
			return nil
		}}
	}
	p := plan.Plan{Name: "this", AtOnce: 2, Parts: []plan.Part{part("a"), part("beside"), part("needs both", "a", "beside"), part("needs a", "a")}}
	if code, _ := run.Run(context.Background(), p, w.Options); code != 0 || len(ended) != 4 {
		t.Errorf("exit code %d, these have ended: %v\n%s", code, ended, w.out)
	}
}

// A plan that keeps going after a failure leaves only out what needs the part that has failed.
func TestKeepGoing(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	after := sh("after bad", "true")
	after.Needs = []string{"bad"}
	p := plan.Plan{Name: "this", KeepGoing: true, Parts: []plan.Part{sh("bad", "exit 4"), after, sh("worse", "exit 5"), sh("good", "true")}}
	var ended []string
	w.Ended = func(part string, passed bool, _ time.Duration) { ended = append(ended, fmt.Sprint(part, " ", passed)) }
	if code, _ := run.Run(context.Background(), p, w.Options); code != 4 {
		t.Errorf("expected the exit code of the first that failed, got %d", code)
	}
	if want := []string{"bad false", "worse false", "good true"}; !slices.Equal(ended, want) {
		t.Errorf("the results are %q, expected %q", ended, want)
	}
	w.expect(t, `.*
 +\d+ s +0 s CPU  failed \(4\)   bad
 +0 s +0 s CPU  not run      after bad
 +\d+ s +0 s CPU  failed \(5\)   worse
 +\d+ s +0 s CPU  ok           good
 +\d+ s +\d+ s CPU  failed       this in all
`)
}

// A part that is interrupted gets time to end. What a part undoes is undone if it has started, however the plan ends.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]bool{"interrupted": true, "failed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newScenario(t)
			ctx, cancel := context.WithCancel(t.Context())
			stays, fails := side(t)
			stays.Finally = []string{"echo", "undone"}
			never := sh("never", "true")
			never.Finally = []string{"echo", "never undone"}
			parts := []plan.Part{stays, never}
			if runs {
				parts[1] = plan.Part{Name: "cancels", Do: func(context.Context, io.Writer) error {
					<-runsNow(t, stays)
					cancel()
					<-ctx.Done()
					return ctx.Err()
				}}
			} else {
				parts = []plan.Part{stays, fails, never}
			}
			code, _ := run.Run(ctx, plan.Plan{Name: "this", AtOnce: 2, Parts: parts}, w.Options)
			cancel()
			if code == 0 || strings.Contains(w.out.String(), "never undone") {
				t.Errorf("exit code %d\n%s", code, w.out)
			}
			w.expect(t, `.*
== stays
interrupted
.*
== after stays
undone
.*
 +\d+ s +\d+ s CPU  stopped      stays
.*`)
		})
	}
}

// runsNow returns a channel that is closed when the part that stays runs.
func runsNow(t *testing.T, stays plan.Part) <-chan struct{} {
	t.Helper()
	file := regexp.MustCompile(`>'([^']+)'`).FindStringSubmatch(stays.Command[2])[1]
	runs := make(chan struct{})
	go func() {
		untilExists(file)
		close(runs)
	}()
	return runs
}

// What can't be interrupted is killed as soon as the user is impatient, and is reported.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	ctx, cancel := context.WithCancel(t.Context())
	stays, _ := side(t)
	stays.Command[2] = strings.ReplaceAll(stays.Command[2], `trap 'echo "interrupted"; exit 130' INT`, `trap '' INT`)
	kill := make(chan struct{})
	w.Kill = kill
	w.Grace = time.Hour
	go func() {
		<-runsNow(t, stays)
		cancel()
		close(kill)
	}()
	if code, _ := run.Run(ctx, plan.Plan{Name: "this", Parts: []plan.Part{stays}}, w.Options); code == 0 {
		t.Error("expected a failure")
	}
	w.expect(t, `.*killed what "stays" has left running: \d+ sh -c .*
 +\d+ s +\d+ s CPU  stopped      stays
.*`)
}

// While nothing is shown, a line of progress says what each part is doing. That of a command within a part is its own.
func TestProgress(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	w.Quiet = 20 * time.Millisecond
	// Either part may be shown before the other one starts.
	shown := func() bool {
		got := w.progress.String()
		return regexp.MustCompile(`(?m)^ +\d+ s  inner \.\.\. \(linking\)$`).MatchString(got) && regexp.MustCompile(`(?m)^ +\d+ s  waits \.\.\.$`).MatchString(got)
	}
	both := make(chan struct{})
	w.Progress = writer(func(text []byte) (int, error) {
		n, err := w.progress.Write(text)
		select {
		case <-both:
		default:
			if shown() {
				close(both)
			}
		}
		return n, err
	})
	file := filepath.Join(t.TempDir(), "go-on")
	inner := sh("inner", `echo "     7 s  compiling it ... (linking)" >&2; until [ -e '`+file+`' ]; do sleep 0.1; done`)
	outer := plan.Part{Name: "waits", Do: func(context.Context, io.Writer) error {
		<-both
		return os.WriteFile(file, nil, 0o600)
	}}
	code, _ := run.Run(context.Background(), plan.Plan{Name: "this", AtOnce: 2, Parts: []plan.Part{inner, outer}}, w.Options)
	if code != 0 || !shown() {
		t.Errorf("exit code %d, and the progress is\n%s", code, w.progress)
	}
	if strings.Contains(w.out.String(), "linking") {
		t.Errorf("a line of progress is shown among the output:\n%s", w.out)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }

// A check in Go that fails says why, and has a JUnit file, as every part has.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	check := plan.Part{Name: "a check", Do: func(_ context.Context, out io.Writer) error {
		fmt.Fprintln(out, "big.bin")
		return errors.New("this file is too large")
	}}
	if code := w.run(sh("quick", "true"), check); code != 1 {
		t.Errorf("exit code %d", code)
	}
	w.expect(t, `.*
== a check
big\.bin
this file is too large
.*failed \(1\)   a check
.*`)
	for name, want := range map[string]string{
		"quick.xml":   `<testcase classname="this" name="quick" time="[\d.]+"></testcase>`,
		"a-check.xml": `(?s)<testcase classname="this" name="a check" time="[\d.]+">\s*<failure message="failed">big.bin&#xA;this file is too large&#xA;</failure>`,
	} {
		text, err := os.ReadFile(filepath.Join(w.Results, name))
		if err != nil || !regexp.MustCompile(want).Match(text) {
			t.Errorf("expected %s in %s, got %v\n%s", want, name, err, text)
		}
	}
}

// goModule writes a module with tests, and returns a part that runs them.
func goModule(t *testing.T, w *scenario, test string) plan.Part {
	t.Helper()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26.0\n",
		"a/a_test.go":    "package a\n\nimport (\n\t\"os\"\n\t\"os/signal\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _, _, _ = time.Now, os.Getenv, signal.Notify\n\n" + test,
		"none/none.go":   "package none\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Skip(\"it needs a real kubelet\") }\n",
		"wrong/wrong.go": "package wrong\n\nvar x int = \"\"\n",
	} {
		path := filepath.Join(w.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return plan.Part{Name: "tests", Tests: &plan.Tests{Flags: []string{"-count=1", "-vet=off"}, Packages: []string{"./a", "./b", "./none"}}}
}

// go test's packages are shown as they end, then what was skipped, and what has failed. Its JUnit file has all tests, and its events are kept.
func TestTests(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	part := goModule(t, w, `func TestGood(t *testing.T) {}

func TestBad(t *testing.T) { t.Error("expected 1, got 2") }
`)
	part.In = []string{"sh", "-c", `echo "a cluster is up"; "$@"`, "with"}
	code, files := run.Run(context.Background(), plan.Plan{Name: "this", Parts: []plan.Part{part}}, w.Options)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	w.expect(t, `
== tests
a cluster is up
.*=== FAIL: a TestBad \([\d.ms]+\)
    a_test.go:\d+: expected 1, got 2
--- FAIL: TestBad \([\d.]+s\)
.*FAIL  a \([\d.ms]+\)
.*Skipped:
  b TestB: it needs a real kubelet
Failed:
  a TestBad
3 packages, 3 tests, 1 skipped, 1 failed

 +\d+ s +\d+ s CPU  failed \(1\)   tests
.*`)
	for _, want := range []string{`ok    b \([\d.ms]+\)`} {
		if !regexp.MustCompile(want).MatchString(w.out.String()) {
			t.Errorf("expected %s in\n%s", want, w.out)
		}
	}
	junit, err := os.ReadFile(filepath.Join(w.Results, "tests.xml"))
	for _, want := range []string{`classname="a" name="TestGood"`, `classname="a" name="TestBad"`, `<skipped message="it needs a real kubelet">`} {
		if err != nil || !strings.Contains(string(junit), want) {
			t.Errorf("expected %s in the JUnit file, got %v\n%s", want, err, junit)
		}
	}
	if !slices.Equal(files, []string{filepath.Join(w.Results, "tests.json")}) {
		t.Fatalf("the events are in %q", files)
	}
	kept, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(kept), `"Action":"fail","Package":"example.com/m/a","Test":"TestBad"`) {
		t.Errorf("the events are %v\n%s", err, kept)
	}
}

// A test that fails because another part has failed is not reported as a failure.
func TestInterruptedTests(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	runs := filepath.Join(t.TempDir(), "runs")
	tests := goModule(t, w, `func TestStays(t *testing.T) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if err := os.WriteFile("`+runs+`", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-interrupted
	t.Error("interrupted")
}
`)
	fails := sh("fails", `until [ -e '`+runs+`' ]; do sleep 0.1; done; exit 3`)
	code, files := run.Run(context.Background(), plan.Plan{Name: "this", AtOnce: 2, Parts: []plan.Part{tests, fails}}, w.Options)
	if code != 3 || strings.Contains(w.out.String(), "TestStays") {
		t.Errorf("exit code %d\n%s", code, w.out)
	}
	kept, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(kept), `"Action":"fail"`) {
		t.Errorf("the events are %v\n%s", err, kept)
	}
}

// A command that is not go test may write what it has tested. A program that a test runs may not.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.out)
		}
	})
	mutants := sh("mutants", `echo '{"Action":"pass","Package":"example.com/m/mutants","Test":"TestMutants/one","Elapsed":2}
{"Action":"pass","Package":"example.com/m/mutants","Elapsed":2}' >"$TESTBED_EVENTS"`)
	tests := goModule(t, w, `func TestEvents(t *testing.T) {
	if path := os.Getenv("TESTBED_EVENTS"); path != "" {
		t.Error(path)
	}
}
`)
	broken := mutants
	broken.Name, broken.Command = "broken", []string{"sh", "-c", mutants.Command[2] + "; echo 'no space left' >&2; exit 1"}
	code, files := run.Run(context.Background(), plan.Plan{Name: "this", Parts: []plan.Part{sh("quick", "true"), mutants, tests, broken}}, w.Options)
	var want []string
	for _, name := range []string{"broken.json", "mutants.json", "tests.json"} { // a part that failed comes first
		want = append(want, filepath.Join(w.Results, name))
	}
	if code != 1 || !slices.Equal(files, want) {
		t.Errorf("exit code %d, and the events are in %q, expected %q", code, files, want)
	}
	for name, want := range map[string]string{
		"mutants.xml": `<testsuite name="mutants" tests="1" failures="0".*<testcase classname="mutants" name="TestMutants/one" time="2.000"></testcase>`,
		"broken.xml":  `<testcase classname="mutants" name="TestMutants/one".*<testcase classname="this" name="broken".*no space left`,
	} {
		junit, err := os.ReadFile(filepath.Join(w.Results, name))
		if err != nil || !regexp.MustCompile("(?s)"+want).Match(junit) {
			t.Errorf("expected %s in the JUnit file, got %v\n%s", want, err, junit)
		}
	}
}

// The errors of a compiler are shown with the package that it could not compile.
func TestDoesNotCompile(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	part := goModule(t, w, "")
	part.Tests.Packages = []string{"./wrong"}
	if code := w.run(part); code == 0 {
		t.Error("expected a failure")
	}
	if !strings.Contains(w.out.String(), `wrong.go:3:13: cannot use ""`) {
		t.Errorf("the error is not in\n%s", w.out)
	}
}

// looked has the watchdog look when the test says so. The function that it returns has it look once, and reports whether the run goes on.
// over ends that.
func (w *scenario) looked() (look func() bool, over func()) {
	looks, ended := make(chan time.Time), make(chan struct{})
	w.Looks = looks
	return func() bool {
		select {
		case looks <- time.Now():
			return true
		case <-ended:
			return false
		}
	}, func() { close(ended) }
}

// untilExists waits for a file.
func untilExists(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// A test that hangs prints its goroutines, and fails as one that hangs.
func TestHangs(t *testing.T) {
	t.Parallel()
	w := newScenario(t)
	w.Watch = 2 * time.Second
	// The watchdog does not look before the test hangs: a Go command that waits for a slow disk hangs, too.
	look, over := w.looked()
	hangs := filepath.Join(t.TempDir(), "hangs")
	go func() {
		untilExists(hangs)
		for look() {
		}
	}()
	part := goModule(t, w, `func TestGood(t *testing.T) {}

func waitsForever() {
	_ = os.WriteFile("`+hangs+`", nil, 0o600)
	time.Sleep(24 * time.Hour)
}

func TestHangs(t *testing.T) {
	t.Log("before it hangs")
	waitsForever()
}
`)
	code := w.run(part)
	over()
	if code == 0 {
		t.Error("expected a failure")
	}
	w.expect(t, `
== tests
.*tests hangs: for 2s no test has started, ended or printed, and nothing was compiled; the goroutines of its tests follow\.
.*=== FAIL: a TestHangs .*before it hangs
.*SIGQUIT: quit
.*waitsForever.*
Failed:
  a TestHangs
.*
 +\d+ s +\d+ s CPU  failed \(1\)   tests
.*`)
}

// hung is what is printed about a part that hangs.
const hung = "hangs: for "

// A command that only repeats a line of progress hangs, and so does a check in Go that waits.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]plan.Part{
		"only counts": sh("part", `i=0; while :; do i=$((i+1)); echo "    $i s  compiling ... (etcd)"; sleep 0.1; done`),
		"is silent":   sh("part", `while :; do sleep 0.1; done`),
		"waits in Go": {Name: "part", Do: func(ctx context.Context, _ io.Writer) error {
			<-ctx.Done()
			return ctx.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newScenario(t)
			w.Watch = time.Second
			w.Grace = time.Second
			if code := w.run(part); code == 0 || !strings.Contains(w.out.String(), hung) {
				t.Errorf("exit code %d, and it prints\n%s", code, w.out)
			}
		})
	}
}

// periods are for how many of its periods a test keeps a watchdog from what it waits for.
const periods = 3

// The watchdog lets go on what prints now and then, for longer than its period. No other test runs beside it, because the watchdog would
// see its compilers.
func TestWatchdogSeesLines(t *testing.T) {
	for name, line := range map[string]string{"prints": "%d", "shows progress": "     1 s  compiling ... (%d of 60)"} {
		t.Run(name, func(t *testing.T) {
			w := newScenario(t)
			w.Watch = time.Hour
			printed := make(chan string, periods+10)
			record := func(to io.Writer) io.Writer {
				return writer(func(text []byte) (int, error) {
					printed <- string(text)
					return to.Write(text)
				})
			}
			w.Out, w.Progress = record(w.out), record(w.progress)
			pipe := filepath.Join(t.TempDir(), "lines")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			look, over := w.looked()
			go func() {
				lines, err := os.OpenFile(pipe, os.O_WRONLY, 0)
				if err != nil {
					t.Error(err)
					return
				}
				defer lines.Close()
				for i := range periods {
					text := fmt.Sprintf(line+"\n", i)
					if _, err := lines.WriteString(text); err != nil {
						t.Error(err)
					}
					for got := ""; got != text; got = <-printed {
					}
					// One less than a period has, because the last look of the period before may have seen this line.
					for range run.Looks - 1 {
						look()
					}
				}
			}()
			code := w.run(sh("part", `while IFS= read -r line; do echo "$line"; done <'`+pipe+`'`))
			over()
			if code != 0 || strings.Contains(w.out.String(), hung) {
				t.Errorf("exit code %d, and it prints\n%s", code, w.out)
			}
		})
	}
}

// The watchdog lets go on what compiles in silence, for longer than its period.
func TestWatchdogSeesACompiler(t *testing.T) {
	compiler := filepath.Join(t.TempDir(), "compile") // a shell that is called so
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(compiler, shell, 0o700); err != nil {
		t.Fatal(err)
	}
	w := newScenario(t)
	w.Watch = time.Hour
	look, over := w.looked()
	done := filepath.Join(t.TempDir(), "done")
	// computed returns when the compiler has used more processor time.
	computed := func(before time.Duration) time.Duration {
		for {
			all, err := process.List()
			if err != nil {
				t.Error(err)
			}
			i := slices.IndexFunc(all, func(p process.Info) bool { return strings.HasPrefix(p.Arguments, compiler+" ") })
			if i >= 0 && all[i].CPU > before {
				return all[i].CPU
			}
			<-time.After(time.Millisecond)
		}
	}
	go func() {
		var cpu time.Duration
		for range periods * run.Looks {
			cpu = computed(cpu)
			look()
		}
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	code := w.run(plan.Part{Name: "part", Command: []string{compiler, "-c", `until [ -e '` + done + `' ]; do :; done`}})
	over()
	if code != 0 || strings.Contains(w.out.String(), hung) {
		t.Errorf("exit code %d, and it prints\n%s", code, w.out)
	}
}
