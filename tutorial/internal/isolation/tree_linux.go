package isolation

import (
	"bytes"
	"os"
	"strconv"

	"github.com/example/operator-testbed/e2e/procstat"
)

// descendants returns a process and all that come from it. A cell is complete this way: its init process becomes the parent of those
// that lose theirs.
func descendants(root int) []procstat.Stat {
	children := map[int][]procstat.Stat{}
	var all []procstat.Stat
	for s, err := range procstat.All() {
		switch {
		case err != nil: // a submission must not stop this by a process that can't be understood
		case s.PID == root:
			all = append(all, s)
		default:
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].PID]...)
	}
	return all
}

// consumptionOf sums up what a process and all that come from it use.
func consumptionOf(root int) consumption {
	var sum consumption
	if root == 0 {
		return sum
	}
	for _, s := range descendants(root) {
		sum.cpu += s.CPU + s.ChildrenCPU // of children that it has waited for, too
		sum.tasks += s.Threads
		sum.memory += memoryOf(s.PID)
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
