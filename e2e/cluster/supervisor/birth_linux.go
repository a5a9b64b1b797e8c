package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// birth returns what distinguishes a process from every other one that had or
// will have its id: the boot it belongs to and its start in clock ticks since then.
// A process that has exited has none.
func birth(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	start, err := startOf(stat)
	if err != nil {
		return "", fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(boot)) + "/" + start, err
}

// startOf returns field 22 of /proc/PID/stat, see proc(5). A process whose
// first thread has ended (Z) still holds its files for as long as another one
// takes to end, and field 20 counts both.
func startOf(stat []byte) (string, error) {
	// The second field, the command, is in parentheses and may itself hold
	// spaces and parentheses; the third field follows the last of them.
	_, after, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := strings.Fields(string(after))
	if !found || len(fields) < 20 {
		return "", errors.New("it has an unknown form")
	}
	state, threads, start := fields[0], fields[17], fields[19]
	if state == "X" || state == "Z" && (threads == "0" || threads == "1") {
		return "", errors.New("the process has ended")
	}
	return start, nil
}
