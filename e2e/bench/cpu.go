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

// usageOf returns the CPU time that each process of a cluster has used so far, and how much memory, in MiB, all of them hold.
// client is the CPU time of this program.
func usageOf(ctx context.Context, sup *supervisor.Supervisor, client time.Duration) (cpu cpuSplit, memory float64, err error) {
	processes, err := sup.Status(ctx)
	if err != nil {
		return nil, 0, err
	}
	cpu = cpuSplit{supervisorAndClient: client}
	var pids []int
	for _, p := range append(processes, supervisor.ProcessStatus{Name: supervisorAndClient, PID: sup.PID()}) {
		if p.PID == 0 {
			return nil, 0, fmt.Errorf("measure the cluster: %s does not run", p.Name)
		}
		used, err := CPUTime(p.PID)
		if err != nil {
			return nil, 0, err
		}
		cpu[p.Name] += used
		pids = append(pids, p.PID)
	}
	memory, err = ResidentMemory(ctx, pids...)
	return cpu, memory, err
}

// usedSince returns the CPU time that this process (syscall.RUSAGE_SELF) or those of its children that have ended
// (syscall.RUSAGE_CHILDREN) have used since before, which is an earlier result.
func usedSince(before time.Duration, whose int) time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(whose, &usage) // it fails only for an unknown whose
	return time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) - before
}
