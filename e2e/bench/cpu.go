package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// supervisorAndClient is what the CPU time is called that goes neither to a component nor to envtest: that of the supervisor and of
// this program.
const supervisorAndClient = "supervisor and client"

// cpuSplit is CPU time by the process that used it.
type cpuSplit map[string]time.Duration

func (s cpuSplit) total() time.Duration {
	total := time.Duration(0)
	for _, used := range s {
		total += used
	}
	return total
}

// cpuOf returns the CPU time that each process of a cluster has used so far. client is the time of this program.
func cpuOf(ctx context.Context, sup *supervisor.Supervisor, client time.Duration) (cpuSplit, error) {
	processes, err := sup.Status(ctx)
	if err != nil {
		return nil, err
	}
	split := cpuSplit{}
	for _, p := range processes {
		if p.PID == 0 {
			return nil, fmt.Errorf("measure the cluster's CPU time: %s does not run", p.Name)
		}
		if split[p.Name], err = CPUTime(p.PID); err != nil {
			return nil, err
		}
	}
	own, err := CPUTime(sup.PID())
	split[supervisorAndClient] = own + client
	return split, err
}

// usedSince returns the CPU time that this process (syscall.RUSAGE_SELF) or those of its children that have ended
// (syscall.RUSAGE_CHILDREN) have used since before, which is an earlier result.
func usedSince(before time.Duration, whose int) time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(whose, &usage) // it fails only for an unknown whose
	return time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) - before
}
