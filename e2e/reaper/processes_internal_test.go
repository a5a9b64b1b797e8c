package reaper

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/example/operator-testbed/e2e/procstat"
)

// A process that executes one program after another belongs to its run all the time, until it is a zombie. In between, and while it exits,
// /proc shows no environment of it.
func TestProcessThatExecutesAProgram(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("this system has no /proc: ps(1) lists processes")
	}
	directory := t.TempDir()
	script := filepath.Join(directory, "script")
	if err := os.WriteFile(script, []byte("[ $1 = 0 ] || exec sh \"$0\" $(($1 - 1))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", script, "100")
	command.Env = append(os.Environ(), Variable+"="+directory)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Wait() }()
	pid := command.Process.Pid
	for {
		found, undecided := processes(directory)
		if slices.Contains(found, pid) || undecided {
			continue
		}
		if stat, err := procstat.Read(pid); err == nil && stat.State != "Z" {
			t.Errorf("a process in the state %s does not count", stat.State)
		}
		return
	}
}
