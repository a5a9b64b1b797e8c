package isolation

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// status is what /proc says of a process.
type status struct {
	pid, parent, tasks int
	cpu                time.Duration // with that of children that it has waited for
}

// descendants returns a process and all that come from it. A cell is complete this way: its init process becomes the parent of those
// that lose theirs.
func descendants(root int) []status {
	children := map[int][]status{}
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	var all []status
	for _, file := range found {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		s, ok := parseStat(stat)
		switch {
		case !ok:
		case s.pid == root:
			all = append(all, s)
		default:
			children[s.parent] = append(children[s.parent], s)
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all
}

// tick is the unit of times in /proc: USER_HZ, which is 100 on all platforms that Go runs on.
const tick = 10 * time.Millisecond

// parseStat reads a line of /proc/PID/stat, see proc_pid_stat(5).
func parseStat(stat []byte) (s status, ok bool) {
	// The command, in parentheses, may itself have spaces and parentheses.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < 0 {
		return s, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 18 {
		return s, false
	}
	// The first of these fields, the state, is the third of the line.
	number := func(field int) int {
		n, err := strconv.Atoi(string(fields[field-3]))
		ok = ok && err == nil
		return n
	}
	ok = true
	s = status{parent: number(4), tasks: number(20), cpu: time.Duration(number(14)+number(15)+number(16)+number(17)) * tick}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(stat[:open])))
	s.pid = pid
	return s, ok && err == nil
}

// consumptionOf sums up what a process and all that come from it use.
func consumptionOf(root int) consumption {
	var sum consumption
	if root == 0 {
		return sum
	}
	for _, s := range descendants(root) {
		sum.cpu += s.cpu
		sum.tasks += s.tasks
		sum.memory += memoryOf(s.pid)
	}
	return sum
}

// memoryOf returns the memory of a process that is not of files.
func memoryOf(pid int) int64 {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	var sum int64
	for line := range bytes.Lines(content) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "RssAnon" && string(name) != "RssShmem" {
			continue
		}
		kilobytes, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
		if err == nil {
			sum += kilobytes << 10
		}
	}
	return sum
}
