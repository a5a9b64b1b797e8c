package bench

import (
	"context"

	"github.com/example/operator-testbed/e2e/procstat"
)

// listProcesses reads the processes from /proc, because ps rounds times to seconds.
func listProcesses(context.Context) ([]process, error) {
	var processes []process
	for s, err := range procstat.All() {
		if err != nil {
			return nil, err
		}
		processes = append(processes, process{pid: s.PID, parent: s.Parent, Usage: Usage{CPU: s.CPU + s.ChildrenCPU, Memory: float64(s.Resident) / (1 << 20)}})
	}
	return processes, nil
}
