// Package leftover finds what a test has left behind: processes and files of a directory that it had to itself.
package leftover

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/procstat"
)

// None waits until no process names the directory any more, and then checks that it contains no file. There is no event for the exit
// of a process that is not a child, so it polls.
func None(t testing.TB, directory string) {
	t.Helper()
	const patience, pause = 10 * time.Minute, 50 * time.Millisecond
	var left []string
	for begin := time.Now(); time.Since(begin) < patience; <-time.After(pause) {
		var undecided bool
		if left, undecided = processes(directory); len(left) == 0 && !undecided {
			break
		}
	}
	if len(left) > 0 {
		t.Errorf("%s later these processes are left:\n%s", patience, strings.Join(left, "\n"))
	}
	_ = filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

// Processes returns the command lines of the processes whose command line, environment or working directory names the directory.
func Processes(directory string) []string {
	found, _ := processes(directory)
	return found
}

// processes is Processes. undecided is true if there may be another one, which does not show while that executes a program, or exits.
func processes(directory string) (found []string, undecided bool) {
	if all, _ := filepath.Glob("/proc/[0-9]*"); len(all) > 0 {
		for _, process := range all {
			pid, err := strconv.Atoi(filepath.Base(process))
			if err != nil {
				continue
			}
			line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
			environment, hidden, err := procstat.Environment(pid)
			working, _ := os.Readlink(filepath.Join(process, "cwd"))
			if bytes.Contains(line, []byte(directory)) || bytes.Contains(environment, []byte(directory)) || strings.HasPrefix(working, directory) {
				found = append(found, process+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			} else {
				undecided = undecided || err == nil && hidden
			}
		}
		return found, undecided
	}
	out, _ := exec.Command("ps", "-axww", "-o", "pid=,args=").Output() // macOS
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, directory) {
			found = append(found, line)
		}
	}
	return found, false
}
