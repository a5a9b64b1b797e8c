package bench

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// keepUsage keeps the CPU time that the processes of a cluster have used so far, in sum and each, and how much memory they hold. The
// CPU time of the supervisor and of this program, client, is one figure.
func (r *run) keepUsage(ctx context.Context, sup *supervisor.Supervisor, client time.Duration) error {
	processes, err := sup.Status(ctx)
	if err != nil {
		return err
	}
	sum := time.Duration(0)
	var each run
	var pids []int
	for _, p := range append(processes, supervisor.ProcessStatus{Name: "supervisor and client", PID: sup.PID()}) {
		if p.PID == 0 {
			return fmt.Errorf("measure the cluster: %s is not running", p.Name)
		}
		used, err := CPUTime(p.PID)
		if err != nil {
			return err
		}
		if p.PID == sup.PID() {
			used += client
		}
		sum += used
		each.keepTime("  "+p.Name, used)
		pids = append(pids, p.PID)
	}
	r.keepTime(embeddedCPU, sum)
	r.samples = append(r.samples, each.samples...)
	memory, err := ResidentMemory(ctx, pids...)
	r.keep(embeddedMemory, "MiB", memory)
	return err
}

// usedSince returns the CPU time that this process (syscall.RUSAGE_SELF) or those of its children that have exited
// (syscall.RUSAGE_CHILDREN) have used since before, which is an earlier result.
func usedSince(before time.Duration, whose int) time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(whose, &usage) // it fails only for an unknown whose
	return time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) - before
}
