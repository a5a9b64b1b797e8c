package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/host/gocommand"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/tier"
)

// bed is a place of its own for clusters, and the commands to run there.
type bed struct {
	t     *testing.T
	root  string // of the clone
	state string
}

// newBed skips the test unless the suites are asked to run on embedded clusters.
func newBed(t *testing.T) bed {
	t.Helper()
	tier.NeedsEmbedded(t)
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Up to date from here on, so that tests side by side don't write it.
	if _, err := operator.Build(t.Context(), root, operator.Finished); err != nil {
		t.Fatal(err)
	}
	b := bed{t: t, root: root, state: filepath.Join(t.TempDir(), "state")}
	t.Cleanup(func() {
		_ = b.command("testbed", "down").Run()
		leftover.None(t, b.state)
	})
	return b
}

// command is a program with the bed around it. TestMain has put this test binary
// on PATH under the name testbed.
func (b bed) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "TESTBED_STATE="+b.state, "LC_ALL=C.UTF-8")
	return cmd
}

// output runs a command that must succeed, and returns what it printed, which
// ends only when everybody has let go of its stdout.
func (b bed) output(name string, args ...string) string {
	b.t.Helper()
	cmd := b.command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, &stderr)
	}
	return string(out)
}

// startUntil starts a command, and returns what it says on the pipe behind the first line that has the text in it.
func (b bed) startUntil(cmd *exec.Cmd, pipe io.Reader, text string) *bufio.Reader {
	b.t.Helper()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	said := bufio.NewReader(pipe)
	for {
		line, err := said.ReadString('\n')
		if err != nil {
			b.t.Fatalf("%s: it ended without %q: %v\n%v", strings.Join(cmd.Args, " "), text, err, cmd.Stderr)
		}
		if strings.Contains(line, text) {
			return said
		}
	}
}

// run starts a command that runs the operator in the foreground. When it is ready, run returns its log, and what the command says from then on.
func (b bed) run(cmd *exec.Cmd) (log *bytes.Buffer, said *bufio.Reader) {
	b.t.Helper()
	log = &bytes.Buffer{}
	cmd.Stdout = log
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	said = bufio.NewReader(stderr)
	for _, want := range []string{"testbed: compiling the finished operator (operator/)\n", "testbed: the finished operator (operator/) is ready; Ctrl-C stops it\n"} {
		if line, err := said.ReadString('\n'); line != want {
			rest, _ := io.ReadAll(said)
			b.t.Fatalf("run said %q (%v)\n%s", line, err, rest)
		}
	}
	return log, said
}

// TestDemoAsAPersonWouldUseIt runs the demo, then types everything that it says
// to type next.
func TestDemoAsAPersonWouldUseIt(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)

	first := b.output("testbed", "demo")
	lines := strings.Split(strings.TrimSpace(first), "\n")
	last := lines[len(lines)-1]
	if !strings.Contains(last, "3/3") || !strings.Contains(last, "Available=True") {
		t.Errorf("the last line is %q; want 3/3 and Available=True in it", last)
	}
	for _, want := range []string{
		"Memcached   memcached-sample created, size 3",
		"Condition   Available=False",
		"Condition   Available=True",
		"└─ Deployment memcached-sample",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the demo did not show %q:\n%s", want, first)
		}
	}
	if strings.Contains(first, "\x1b") {
		t.Errorf("control codes where there is no terminal:\n%q", first)
	}

	again := b.output("testbed", "demo")
	for _, want := range []string{"testbed is already up: it is used again", "runs already, as system:serviceaccount:", "3/3 ready, Available=True"} {
		if !strings.Contains(again, want) {
			t.Errorf("the second demo did not say %q:\n%s", want, again)
		}
	}
	if strings.Contains(again, "created") {
		t.Errorf("the second demo says that something was created:\n%s", again)
	}

	_, next, _ := strings.Cut(again, "Look at it, from this shell:\n")
	script := "set -euo pipefail\n"
	for line := range strings.Lines(next) {
		if command, indented := strings.CutPrefix(line, "  "); indented {
			script += command
		}
	}
	out, err := b.command("bash", "-xc", script).CombinedOutput()
	if err != nil {
		t.Fatalf("typed as shown: %v\n%s", err, out)
	}
	for _, want := range []string{
		"memcached.cache.example.com/memcached-sample scaled",
		`deployment.apps "memcached-sample" deleted`,
		"The cluster testbed is down, and its data is removed.",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("what was typed did not show %q:\n%s", want, out)
		}
	}
	leftover.None(t, b.state)
}

// TestDemoWithoutAnOperator has an operator that does not compile: the cluster that was being brought up beside it goes.
func TestDemoWithoutAnOperator(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	replaced := fmt.Sprintf(`{"Replace": {%q: %q}}`, filepath.Join(b.root, "operator", "cmd", "main.go"), broken)
	if err := errors.Join(os.WriteFile(broken, []byte("package main\n\nbroken\n"), 0o600), os.WriteFile(overlay, []byte(replaced), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := b.command("testbed", "demo")
	cmd.Env = append(cmd.Env, gocommand.FlagsVariable+"=-overlay="+overlay)
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("non-declaration statement outside function body")) {
		t.Errorf("the demo: %v\n%s", err, out)
	}
	leftover.None(t, b.state)
}

// TestStoppedAtAnyMoment stops the demo when it has said something, and expects
// one sentence and nothing left.
func TestStoppedAtAnyMoment(t *testing.T) {
	tier.All(t)
	t.Parallel()
	for _, test := range []struct {
		moment string // part of a line that the demo prints
		signal syscall.Signal
		code   int // -1: ended by the signal itself
	}{
		{"Build ", syscall.SIGINT, 130},
		{"kube-apiserver started", syscall.SIGINT, 130},
		{"Operator ", syscall.SIGINT, 130},
		{"Memcached ", syscall.SIGINT, 130},
		{"kube-apiserver is ready", syscall.SIGTERM, 143},
		{"kube-apiserver started", syscall.SIGKILL, -1},
		{"Operator ", syscall.SIGKILL, -1},
	} {
		t.Run(strings.TrimSpace(test.signal.String()+" "+test.moment), func(t *testing.T) {
			// The Memcached may be Available, and the demo done, before the signal is there: then there is nothing to stop.
			for range 10 {
				if stopDemo(t, test.moment, test.signal, test.code) {
					return
				}
			}
			t.Errorf("the demo was done before the signal had any effect, ten times")
		})
	}
}

// stopDemo sends the demo a signal at a moment, and returns false if the demo was done before. Nothing is left either way.
func stopDemo(t *testing.T, moment string, signal syscall.Signal, code int) bool {
	t.Helper()
	b := newBed(t)
	cmd := b.command("testbed", "demo")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := b.startUntil(cmd, stdout, moment)
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, said)
	_ = cmd.Wait()
	got := cmd.ProcessState.ExitCode()
	if got == 0 {
		b.output("testbed", "down")
		leftover.None(t, b.state)
		return false
	}
	if got != code {
		t.Errorf("exit code %d, want %d; it said: %s", got, code, &stderr)
	}
	// On a slow machine it has reported before that it is at work: lines that end with how long.
	sentence := regexp.MustCompile(`^(starting the program .*: \d+s\n)*testbed: stopped by .*: nothing is left running.*\n$`)
	if code > 0 && !sentence.MatchString(stderr.String()) {
		t.Errorf("it said %q, want one sentence", &stderr)
	}
	leftover.None(t, b.state)
	return true
}

// TestUpTwice brings a cluster up that is up already.
func TestUpTwice(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	if out := b.output("testbed", "up"); !strings.Contains(out, "testbed is up: Kubernetes v1.37.0") {
		t.Errorf("up said:\n%s", out)
	}
	cmd := b.command("testbed", "up")
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("testbed: the cluster testbed is already up: ")) {
		t.Errorf("a second up: %v\n%s", err, out)
	}
	if out := b.output("testbed", "status"); !strings.Contains(out, "kube-apiserver") {
		t.Errorf("the cluster was lost:\n%s", out)
	}
}

// TestUsedWhileItStarts wants to use a cluster that another command is bringing up: its supervisor runs, and is not detached yet.
func TestUsedWhileItStarts(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	starting, err := supervisor.Start(t.Context(), supervisor.Options{Dir: filepath.Join(b.state, "clusters", "testbed")})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"demo", "run", "env"} {
		out, err := b.command("testbed", command).CombinedOutput()
		if want := "testbed: another command is starting the cluster testbed: wait until it is done, then run this again\n"; err == nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%s: %v, expected %q, got\n%s", command, err, want, out)
		}
	}
	if err := starting.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDownWhileItRuns takes the cluster down while another terminal runs the operator. Before that, the operator was run by a program that was killed,
// and ended with it.
func TestDownWhileItRuns(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	b.output("testbed", "up")

	orphaned := b.command("testbed", "--until-eof", "run")
	lifeline, err := orphaned.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	_, said := b.run(orphaned)
	if err := lifeline.Close(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	_ = orphaned.Wait()
	if code := orphaned.ProcessState.ExitCode(); code != 143 || string(rest) != "testbed: stopped by a signal (terminated): the operator has ended\n" {
		t.Errorf("after the end of its input: exit code %d, %q", code, rest)
	}

	cmd := b.command("testbed", "run")
	_, said = b.run(cmd)
	b.output("testbed", "down")
	rest, _ = io.ReadAll(said)
	if err := cmd.Wait(); err != nil || string(rest) != "testbed: the cluster testbed is taken down: the operator has been stopped\n" {
		t.Errorf("after down: %v, %q", err, rest)
	}
	leftover.None(t, b.state)
}

// TestRunUntilCtrlC runs the operator in the foreground, and stops it.
func TestRunUntilCtrlC(t *testing.T) {
	tier.All(t)
	t.Parallel()
	b := newBed(t)
	b.output("testbed", "up")

	cmd := b.command("testbed", "run")
	log, said := b.run(cmd)

	typed, err := b.command("bash", "-c", `
		set -euo pipefail
		eval "$(make -s env)"
		kubectl apply -k operator/config/samples
		kubectl wait --for=condition=Available --timeout=10m memcached/memcached-sample
	`).CombinedOutput()
	if err != nil {
		t.Errorf("the operator at work: %v\n%s", err, typed)
	}
	// What kubectl has learned of this cluster goes with it: the next one may have its address.
	if cached, err := os.ReadDir(filepath.Join(home.KubectlCache(filepath.Join(b.state, "clusters", "testbed", "kubeconfig")), "discovery")); err != nil || len(cached) != 1 {
		t.Errorf("kubectl's cache of this cluster: %v, %v", cached, err)
	}

	// A run that is refused leaves the CustomResourceDefinition to the one that goes on: it may say at which port objects are converted.
	generation := func() string {
		out, err := b.command("bash", "-c", `
			eval "$(make -s env)"
			kubectl get crd memcacheds.cache.example.com -o jsonpath='{.metadata.generation}'
		`).Output()
		if err != nil {
			t.Fatalf("reading the CustomResourceDefinition: %v", err)
		}
		return string(out)
	}
	before := generation()
	second, err := b.command("testbed", "run", "--operator=tutorial/15-versions").CombinedOutput()
	if err == nil || !bytes.Contains(second, []byte("another terminal runs the operator on the cluster testbed")) {
		t.Errorf("a second run: %v\n%s", err, second)
	}
	if after := generation(); after != before {
		t.Errorf("the generation of the CustomResourceDefinition was %s, and is %s after a run that was refused", before, after)
	}

	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(said)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || string(rest) != "testbed: stopped by Ctrl-C: the operator has ended\n" {
		t.Errorf("after Ctrl-C: exit code %d, %q", code, rest)
	}
	if !bytes.Contains(log.Bytes(), []byte("Starting workers")) {
		t.Errorf("the operator's log was not shown:\n%s", log)
	}
	for _, process := range leftover.Processes(b.state) {
		if strings.Contains(process, "memcached-operator") {
			t.Errorf("the operator is left: %s", process)
		}
	}
}

// reapedVariable names to this test binary the state of the cluster that it brings up until it is killed.
const reapedVariable = "TESTBED_TEST_REAPED"

// TestUpUntilKilled is what TestReaped kills.
func TestUpUntilKilled(t *testing.T) {
	state := os.Getenv(reapedVariable)
	if state == "" {
		return
	}
	b := bed{t: t, state: state}
	b.output("testbed", "up")
	fmt.Println("\nup")
	<-time.After(time.Hour)
}

// TestReaped kills tests that have brought up a cluster with a command which leaves it up.
func TestReaped(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			tests := b.command(os.Args[0], "-test.run=^TestUpUntilKilled$", "-test.timeout=0")
			tests.Env = append(tests.Env, reapedVariable+"="+b.state)
			out, err := tests.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			b.startUntil(tests, out, "up")
			if err := tests.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = tests.Wait()
			leftover.None(t, b.state)
		})
	}
}
