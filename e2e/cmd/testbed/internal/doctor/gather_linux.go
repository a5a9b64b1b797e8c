package doctor

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

// gatherSystem reads what Linux reports in /proc.
func gatherSystem(f *Facts) {
	f.InotifyInstances = number("/proc/sys/fs/inotify/max_user_instances")
	f.InotifyWatches = number("/proc/sys/fs/inotify/max_user_watches")

	meminfo, _ := os.ReadFile("/proc/meminfo")
	if found := available.FindSubmatch(meminfo); found != nil {
		kib, _ := strconv.ParseUint(string(found[1]), 10, 64)
		f.MemoryAvailable = kib << 10
	}
}

// available finds the memory, in KiB, that programs can still get.
var available = regexp.MustCompile(`(?m)^MemAvailable: +(\d+) kB$`)

// number returns what a file of /proc holds, or 0.
func number(path string) uint64 {
	data, _ := os.ReadFile(path)
	n, _ := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	return n
}
