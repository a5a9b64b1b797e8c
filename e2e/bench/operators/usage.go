package operators

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used so far.
type usage struct {
	cpu    time.Duration
	memory float64 // resident now, in MiB
}

// usageOf asks ps, which says the same on Linux and macOS.
func usageOf(ctx context.Context, pid int) (usage, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "time=,rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return usage{}, fmt.Errorf("ask ps for the process %d: %w", pid, err)
	}
	return parseUsage(string(out))
}

// parseUsage reads "[[dd-]hh:]mm:ss[.cc] KiB".
func parseUsage(line string) (usage, error) {
	fields := strings.Fields(line)
	if len(fields) != 2 {
		return usage{}, fmt.Errorf("ps said %q", line)
	}
	kib, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return usage{}, fmt.Errorf("ps said %q", line)
	}
	days, clock, found := strings.Cut(fields[0], "-")
	if !found {
		days, clock = "0", fields[0]
	}
	inDays, err := strconv.ParseFloat(days, 64)
	if err != nil {
		return usage{}, fmt.Errorf("ps said %q", line)
	}
	seconds := 0.0
	for part := range strings.SplitSeq(clock, ":") {
		value, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return usage{}, fmt.Errorf("ps said %q", line)
		}
		seconds = 60*seconds + value
	}
	cpu := time.Duration((24*60*60*inDays + seconds) * float64(time.Second))
	return usage{cpu: cpu, memory: kib / 1024}, nil
}
