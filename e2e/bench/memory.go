package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// ResidentMemory returns how much memory, in MiB, the processes hold together now.
func ResidentMemory(ctx context.Context, pids ...int) (float64, error) {
	// It is part of POSIX, so Linux and macOS give the same number in the same way.
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strings.Trim(fmt.Sprint(pids), "[]")).Output()
	if err != nil {
		return 0, fmt.Errorf("ask ps for the memory of processes %v: %w", pids, err)
	}
	return sumResident(string(out), len(pids))
}

// sumResident adds up what ps prints about count processes, a line of KiB for each, and returns MiB.
func sumResident(listing string, count int) (float64, error) {
	total, sizes := 0, strings.Fields(listing)
	if len(sizes) != count {
		return 0, fmt.Errorf("ps knows %d of %d processes", len(sizes), count)
	}
	for _, size := range sizes {
		kib, err := strconv.Atoi(size)
		if err != nil {
			return 0, fmt.Errorf("ps printed %q, expected a number of KiB", size)
		}
		total += kib
	}
	return float64(total) / 1024, nil
}
