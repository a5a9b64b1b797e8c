package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// ResidentMemory returns how much memory, in MiB, the processes hold together at this moment.
func ResidentMemory(ctx context.Context, pids ...int) (float64, error) {
	list := make([]string, len(pids))
	for i, pid := range pids {
		list[i] = strconv.Itoa(pid)
	}
	// POSIX has it, so Linux and macOS give the same number in the same way.
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strings.Join(list, ",")).Output()
	if err != nil {
		return 0, fmt.Errorf("ask ps: %w", err)
	}
	return sumResident(string(out), len(pids))
}

// sumResident adds up what ps says of count processes, a line of KiB for each, and returns MiB.
func sumResident(listing string, count int) (float64, error) {
	sizes := strings.Fields(listing)
	if len(sizes) != count {
		return 0, fmt.Errorf("ps knows %d of %d processes", len(sizes), count)
	}
	total := 0.0
	for _, size := range sizes {
		kib, err := strconv.ParseUint(size, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("ps said %q", size)
		}
		total += float64(kib)
	}
	return total / 1024, nil
}
