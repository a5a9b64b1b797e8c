package bench

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// CPUTime returns the user and system time that a running process has used, all of its threads together.
func CPUTime(pid int) (time.Duration, error) {
	// Unlike that of Linux, this ps knows hundredths of a second: minutes:seconds.hundredths.
	out, err := exec.Command("ps", "-o", "time=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	minutes, seconds, _ := strings.Cut(strings.TrimSpace(string(out)), ":")
	return time.ParseDuration(minutes + "m" + seconds + "s")
}
