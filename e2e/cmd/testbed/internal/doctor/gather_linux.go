package doctor

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// gatherSystem reads what Linux tells in /proc.
func gatherSystem(f *Facts) {
	f.InotifyInstances = number("/proc/sys/fs/inotify/max_user_instances")
	f.InotifyWatches = number("/proc/sys/fs/inotify/max_user_watches")

	meminfo, err := os.Open("/proc/meminfo")
	if err != nil {
		return
	}
	defer meminfo.Close()
	for scanner := bufio.NewScanner(meminfo); scanner.Scan(); {
		var kib uint64
		if _, err := fmt.Sscanf(scanner.Text(), "MemAvailable: %d kB", &kib); err == nil {
			f.MemoryAvailable = kib << 10
		}
	}
}

func number(path string) uint64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
