package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/PID/stat: see sysconf(_SC_CLK_TCK), which is 100 on all platforms that Go supports.
const tick = time.Second / 100

// listProcesses reads the processes from /proc, because ps rounds times to seconds.
func listProcesses(context.Context) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var processes []process
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has exited
		}
		p, err := parseStat(text)
		if err != nil {
			return nil, fmt.Errorf("read /proc/%s/stat: %w", entry.Name(), err)
		}
		processes = append(processes, p)
	}
	return processes, nil
}

// parseStat reads a file /proc/PID/stat, which proc_pid_stat(5) describes.
func parseStat(text []byte) (process, error) {
	// The second field is the program's name in parentheses, which may contain blanks and parentheses.
	name, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if name < 0 || end < name {
		return process{}, fmt.Errorf("%q has no name in parentheses", text)
	}
	fields := append(strings.Fields(string(text[:name])), strings.Fields(string(text[end+1:]))...)
	var numbers []int64
	// pid, ppid, utime, stime, cutime, cstime and rss. The manual counts from 1, and counts the name.
	for _, i := range []int{0, 2, 12, 13, 14, 15, 22} {
		if i >= len(fields) {
			return process{}, fmt.Errorf("%q has only %d fields", text, len(fields))
		}
		number, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return process{}, err
		}
		numbers = append(numbers, number)
	}
	return process{
		pid: int(numbers[0]), parent: int(numbers[1]),
		Usage: Usage{
			CPU:    time.Duration(numbers[2]+numbers[3]+numbers[4]+numbers[5]) * tick,
			Memory: float64(numbers[6]) * float64(os.Getpagesize()) / (1 << 20),
		},
	}, nil
}
