package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// birth returns what tells a process from every other one that had or will
// have its id: the boot it belongs to and its start in clock ticks since then
// (field 22 of /proc/PID/stat, see proc(5)). A process that has ended has none.
func birth(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field, the command, is in parentheses and may itself hold
	// spaces and parentheses; the third field follows the last of them.
	_, after, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := strings.Fields(string(after))
	if !found || len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[19], nil
}
