package bench

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestCPUTime asks for this test's own CPU time between two answers of the kernel that are known to be right.
func TestCPUTime(t *testing.T) {
	const resolution = 10 * time.Millisecond // of macOS' ps
	for before := usedSince(0, syscall.RUSAGE_SELF); usedSince(before, syscall.RUSAGE_SELF) < 2*resolution; {
		// Use some.
	}
	least := usedSince(0, syscall.RUSAGE_SELF)
	got, err := CPUTime(os.Getpid())
	most := usedSince(0, syscall.RUSAGE_SELF)
	if err != nil || got < least-resolution || got > most+resolution {
		t.Errorf("CPUTime(self) = %v, %v; want between %v and %v", got, err, least, most)
	}
	if _, err := CPUTime(1 << 22); err == nil { // Linux gives no id as high as that, nor does macOS
		t.Error("a process that does not exist has a CPU time")
	}
}
