package doctor

import "golang.org/x/sys/unix"

// gatherSystem asks macOS for its memory. What is available changes with every
// program's compressed pages, so the total has to do.
func gatherSystem(f *Facts) {
	f.MemoryAvailable, _ = unix.SysctlUint64("hw.memsize")
}
