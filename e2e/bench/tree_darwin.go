package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// listProcesses asks ps, which adds the time of children that have exited with -S.
func listProcesses(ctx context.Context) ([]process, error) {
	out, err := exec.CommandContext(ctx, "ps", "-A", "-S", "-o", "pid=,ppid=,rss=,time=").Output()
	if err != nil {
		return nil, fmt.Errorf("ask ps for the processes: %w", err)
	}
	var processes []process
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			return nil, fmt.Errorf("ps printed %q, expected 4 columns", line)
		}
		var numbers [3]int
		for i := range numbers {
			if numbers[i], err = strconv.Atoi(fields[i]); err != nil {
				return nil, fmt.Errorf("ps printed %q, expected numbers", line)
			}
		}
		minutes, seconds, _ := strings.Cut(fields[3], ":")
		used, err := time.ParseDuration(minutes + "m" + seconds + "s")
		if err != nil {
			return nil, fmt.Errorf("ps printed the time %q: %w", fields[3], err)
		}
		processes = append(processes, process{pid: numbers[0], parent: numbers[1], Usage: Usage{CPU: used, Memory: float64(numbers[2]) / 1024}})
	}
	return processes, nil
}
