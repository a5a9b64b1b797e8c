package reaper

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/example/operator-testbed/e2e/procstat"
)

// grace is how long a process may take to end after a SIGTERM: a supervisor removes the directory of its cluster, and an inner reaper
// cleans up its own run, which a busy machine may need a while for. What is killed before that leaves its files.
var grace = 30 * time.Second

const (
	// killLimit is how long a process may take to be gone after a SIGKILL. One in an uninterruptible system call must not keep the
	// reaper forever.
	killLimit = 30 * time.Second
	// pause is between two looks: no event says that a process has ended which is not a child.
	pause = 20 * time.Millisecond
)

// endProcesses ends the processes of a run: with a SIGTERM, and those that are left after the grace with a SIGKILL.
func endProcesses(directory string) error {
	asked := map[int]bool{}
	for begin := time.Now(); ; <-time.After(pause) {
		left, undecided := processes(directory)
		switch {
		case len(left) == 0 && !undecided:
			return nil
		case time.Since(begin) > grace+killLimit:
			return stillThere(left)
		}
		for _, pid := range left {
			if time.Since(begin) > grace {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			} else if !asked[pid] {
				asked[pid] = true
				_ = syscall.Kill(pid, syscall.SIGTERM)
				_ = syscall.Kill(pid, syscall.SIGCONT) // else a paused one would not notice
			}
		}
	}
}

// stillThere returns an error about processes that could not be ended, if there are any.
func stillThere(left []int) error {
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("the processes %v are still there", left)
}

// processes returns the ids of the processes, other than this one, that belong to a run. undecided is true if another process may belong
// to it, which does not show while that executes a program, or exits.
func processes(directory string) (found []int, undecided bool) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	if len(environments) == 0 {
		return listed(directory), false
	}
	for _, path := range environments {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environment, hidden, err := procstat.Environment(pid)
		switch {
		case err != nil: // it has ended, or belongs to another user
		case belongs(environment, directory):
			found = append(found, pid)
		default:
			undecided = undecided || hidden
		}
	}
	return found, undecided
}

// belongs reports whether a process with this environment, whose variables end with a zero, belongs to a run.
func belongs(environment []byte, directory string) bool {
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if value, found := bytes.CutPrefix(variable, []byte(Variable+"=")); found {
			return slices.Contains(filepath.SplitList(string(value)), directory)
		}
	}
	return false
}

// listed is processes for macOS.
func listed(directory string) []int {
	out, _ := exec.Command("ps", "-axwwE", "-o", "pid=,command=").Output()
	var found []int
	for line := range strings.Lines(string(out)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, value, marked := strings.Cut(rest, " "+Variable+"=")
		pid, err := strconv.Atoi(number)
		if err == nil && pid != os.Getpid() && marked && strings.Contains(value, directory) {
			found = append(found, pid)
		}
	}
	return found
}
