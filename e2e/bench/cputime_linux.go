package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the user and system time that a running process has used, all of its threads together.
func CPUTime(pid int) (time.Duration, error) {
	// Each process has a clock of its CPU time. This is how clock_getcpuclockid(3) makes the clock's id.
	const scheduler = 2
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &used); err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}
