package supervisor

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/example/operator-testbed/e2e/procstat"
)

// birth returns what distinguishes a process from every other one that had or
// will have its id: the boot it belongs to and its start in clock ticks since then.
// A process that has exited has none.
func birth(pid int) (string, error) {
	stat, err := procstat.Read(pid)
	if err != nil {
		return "", err
	}
	if hasExited(stat) {
		return "", errors.New("the process has exited")
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return fmt.Sprintf("%s/%d", strings.TrimSpace(string(boot)), stat.Start), err
}

// hasExited reports whether nothing is left of a process but its entry. One whose first thread has exited (Z) still holds its files as
// long as another thread runs. Threads counts both.
func hasExited(s procstat.Stat) bool { return s.State == "X" || s.State == "Z" && s.Threads <= 1 }
