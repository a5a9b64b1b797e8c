package toy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The environment of a stand-in: the real go command, what the stand-in says on
// standard error when it is asked to build, and a file to make when it hangs.
const (
	realGo  = "TOY_REAL_GO"
	failing = "TOY_FAILING"
	hanging = "TOY_HANGING"
)

// tooLate is when a stand-in that hangs ends by itself, should a test fail to
// end it.
const tooLate = 10 * time.Minute

// Main must be called first in the TestMain of a package that uses Failing or
// Hanging: the stand-in is the test's own executable under the name go. It
// returns in the test.
func Main() {
	if filepath.Base(os.Args[0]) != "go" {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "build" {
		if said := os.Getenv(failing); said != "" {
			fmt.Fprintln(os.Stderr, said)
			os.Exit(1)
		}
		if path := os.Getenv(hanging); path != "" {
			hang(path)
		}
	}
	path := os.Getenv(realGo)
	if err := syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hang is a go command with a compiler below it, neither of which ends before it
// is killed, or much too late.
func hang(path string) {
	compiler := exec.Command("sleep", fmt.Sprint(tooLate.Seconds()))
	if err := compiler.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.WriteFile(path+".new", fmt.Append(nil, compiler.Process.Pid), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Rename(path+".new", path)
	_ = compiler.Wait()
	os.Exit(1)
}

// Failing is a go command whose `go build` says something and fails.
func Failing(t *testing.T, says string) string {
	t.Helper()
	t.Setenv(failing, says)
	return fakeGo(t)
}

// Hanging is a go command whose `go build` does not end by itself. As soon as it
// runs it makes a file, which holds the process id of a compiler that it has
// started.
func Hanging(t *testing.T) (goCommand, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "compiler.pid")
	t.Setenv(hanging, file)
	return fakeGo(t), file
}

func fakeGo(t *testing.T) string {
	t.Helper()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(realGo, goCommand)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "go")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}
