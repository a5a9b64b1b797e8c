package bench

import (
	"context"
	"fmt"
	"time"
)

// Usage is what processes have used.
type Usage struct {
	// CPU is their user and system time, and that of their children that have exited.
	CPU time.Duration
	// Memory is their resident memory, in MiB. Memory that two of them share counts twice.
	Memory float64
}

// process is an entry of the system's list of processes.
type process struct {
	pid, parent int
	Usage
}

// TreeUsage returns what a running process, its children, and all processes below them use together. A program that starts other programs
// for its work has used their CPU time as well.
func TreeUsage(ctx context.Context, pid int) (Usage, error) {
	processes, err := listProcesses(ctx)
	if err != nil {
		return Usage{}, err
	}
	used, found := usageBelow(processes, pid)
	if !found {
		return Usage{}, fmt.Errorf("process %d is not running", pid)
	}
	return used, nil
}

// usageBelow adds up what the process of that number and those below it have used, and reports whether there is such a process.
func usageBelow(processes []process, pid int) (sum Usage, found bool) {
	for _, p := range processes {
		if p.pid != pid && p.parent != pid {
			continue
		}
		used := p.Usage
		if p.pid != pid {
			used, _ = usageBelow(processes, p.pid)
		} else {
			found = true
		}
		sum.CPU += used.CPU
		sum.Memory += used.Memory
	}
	return sum, found
}
