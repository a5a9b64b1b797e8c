package command

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/toy"
)

// asCommand makes the test's executable the command itself.
const asCommand = "COMMAND_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	playRole()
	if os.Getenv(asCommand) != "" {
		Main(flag.NewFlagSet("programs", flag.ExitOnError), build)
	}
	os.Exit(m.Run())
}

// build builds all programs of the module in the working directory.
func build(ctx context.Context, cache string) (string, error) {
	module, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return assets.Ensure(ctx, assets.Options{Module: module, Cache: cache, Command: "make programs", Progress: os.Stderr})
}

// command is this command in a toy module, with an empty cache.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Dir = toy.Module(t)
	cmd.Env = append(os.Environ(), asCommand+"=yes", "TESTBED_CACHE="+t.TempDir())
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func TestPrintsTheDirectory(t *testing.T) {
	cmd, stdout, stderr := command(t)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	dir, rest, _ := strings.Cut(stdout.String(), "\n")
	if _, err := os.Stat(filepath.Join(dir, "alpha")); err != nil || rest != "" {
		t.Errorf("standard output is %q: %v", stdout, err)
	}
}

// hanging starts the command with a go command that hangs, and returns when it
// does.
func hanging(t *testing.T, cmd *exec.Cmd) (gone func()) {
	t.Helper()
	goCommand, pipe := toy.Hanging(t)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(goCommand)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return toy.Await(t, pipe)
}

// stopped fails the test unless the command has ended as one that was stopped.
func stopped(t *testing.T, cmd *exec.Cmd, stdout, stderr *bytes.Buffer, why string) {
	t.Helper()
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("the exit code is %d (%v), expected 130", code, err)
	}
	if last := lastLine(stderr.String()); !strings.HasPrefix(last, "programs: stopped ("+why) || stdout.Len() > 0 {
		t.Errorf("standard error ends with %q and standard output is %q", last, stdout)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func TestSignalsStopTheBuild(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) { // under nohup: what is started inherits it unless it is caught here
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd, stdout, stderr := command(t)
			gone := hanging(t, cmd)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			stopped(t, cmd, stdout, stderr, sig.String())
			gone()
		})
	}
}

func TestAHangupUnderNohupDoesNotStopTheBuild(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := command(t)
	cmd.Path, cmd.Args = shell, []string{"sh", "-c", `trap '' HUP; exec "$0"`, os.Args[0]}
	gone := hanging(t, cmd)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	stopped(t, cmd, stdout, stderr, syscall.SIGINT.String())
	gone()
}

func TestEndOfInputStopsTheBuild(t *testing.T) {
	cmd, stdout, stderr := command(t, "-until-eof")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := hanging(t, cmd)
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	stopped(t, cmd, stdout, stderr, "the process that asked for this is gone")
	gone()
}

func TestClosedStandardErrorStopsTheBuild(t *testing.T) {
	cmd, stdout, _ := command(t)
	cmd.Stderr = nil
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	gone := hanging(t, cmd)
	if err := said.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || stdout.Len() > 0 {
		t.Errorf("it ended with %v and standard output %q", err, stdout)
	}
	gone()
}

func TestBadUse(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		env  string
		code int
		says string
	}{
		"unknown argument": {[]string{"now"}, "", 2, `programs: unknown argument "now"`},
		"unknown flag":     {[]string{"-now"}, "", 2, "flag provided but not defined: -now"},
		"relative cache":   {nil, "TESTBED_CACHE=cache", 1, "programs: TESTBED_CACHE is cache: it must be an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := command(t, c.args...)
			cmd.Env = append(cmd.Env, c.env)
			err := cmd.Run()
			if cmd.ProcessState.ExitCode() != c.code || !strings.HasPrefix(stderr.String(), c.says) || stdout.Len() > 0 {
				t.Errorf("it ended with %v, expected %d and %q; it said %q", err, c.code, c.says, stderr)
			}
		})
	}
}
