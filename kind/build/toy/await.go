package toy

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// look is how often a test looks at a file or a process: no event tells of
// either on every platform.
const (
	look    = 10 * time.Millisecond
	tooLong = time.Minute
)

// Await waits until a file is there that holds a process id, and returns it.
func Await(t *testing.T, pidFile string) int {
	t.Helper()
	var pid int
	poll(t, pidFile+" was not written", func() bool {
		content, err := os.ReadFile(pidFile)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(string(bytes.TrimSpace(content)))
		return err == nil
	})
	return pid
}

// AwaitEnd waits until a process is gone.
func AwaitEnd(t *testing.T, pid int) {
	t.Helper()
	poll(t, "process "+strconv.Itoa(pid)+" has not ended", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid)
	})
}

// isZombie says whether a process has ended and only waits for its parent, which
// in a container may be one that never asks. Only Linux shows it.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, afterName, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(afterName, []byte("Z"))
}

func poll(t *testing.T, failure string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	deadline := time.After(tooLong)
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s after %s", failure, tooLong)
		}
	}
}
