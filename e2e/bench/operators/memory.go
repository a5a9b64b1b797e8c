package operators

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// residentMemory returns what a process holds now, in MiB. It asks ps, which says the same on Linux and macOS.
func residentMemory(ctx context.Context, pid int) (float64, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ask ps for the memory of process %d: %w", pid, err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("the memory of process %d: ps said %q", pid, out)
	}
	return kib / 1024, nil
}
