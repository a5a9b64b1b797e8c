package supervisor_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// untilItSays waits for a line in a process's log.
func untilItSays(t *testing.T, s *supervisor.Supervisor, name, line string) {
	t.Helper()
	eventually(t, name+" saying "+line, func() bool {
		log, err := os.ReadFile(s.LogFile(name))
		return err == nil && strings.Contains(string(log), line+"\n")
	})
}

// processState is the state of a process as ps(1) shows it.
func processState(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", itoa(pid)).Output()
	if err != nil {
		t.Fatalf("ps of %d: %v", pid, err)
	}
	return strings.TrimSpace(string(out))
}

func sessionOf(pid int) (int, error) { return unix.Getsid(pid) }

func itoa(n int) string { return strconv.Itoa(n) }

// number is the number that a file holds, 0 if it is half written.
func number(data string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(data))
	return n
}
