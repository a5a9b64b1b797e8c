//go:build amd64 || arm64

package confinement

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// become executes the program under the rules. What it gives up belongs to this thread, and that is the one which executes.
func become(r Rules, program []string) error {
	runtime.LockOSThread()
	if err := r.enter(); err != nil {
		return err
	}
	if err := setLimits(r); err != nil {
		return fmt.Errorf("limit what it uses: %w", err)
	}
	// Whatever is open was opened by processes that the program must not act as.
	if err := unix.CloseRange(uint(os.Stderr.Fd())+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close what is open: %w", err)
	}
	if err := DropCapabilities(); err != nil {
		return err
	}
	if _, err := supported(); err != nil && r.Optional {
		return unconfined(r, program)
	}
	if err := restrictFilesAndPorts(r, program[0]); err != nil {
		return err
	}
	if err := filterCalls(os.Getpid()); err != nil {
		return err
	}
	return fmt.Errorf("execute it: %w", syscall.Exec(program[0], program, r.Env))
}

// openFiles is how many files a program may have open. An operator has a handful of connections.
const openFiles = 1024

// mostStack is how large the stack may get that the program starts with, in bytes. This is what systems have by default.
const mostStack = 8 << 20

func setLimits(r Rules) error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: openFiles}
	if r.CPU > 0 {
		limits[unix.RLIMIT_CPU] = uint64((r.CPU + time.Second - 1) / time.Second)
	}
	if r.FileSize > 0 {
		limits[unix.RLIMIT_FSIZE] = uint64(r.FileSize)
	}
	if r.Memory > 0 {
		// Not RLIMIT_AS: Go reserves addresses by the gigabyte, and they cost nothing until they are made writable. RLIMIT_DATA counts
		// no stack, and no shared memory, which the filter of system calls refuses.
		limits[unix.RLIMIT_DATA] = uint64(r.Memory)
		limits[unix.RLIMIT_STACK] = mostStack
	}
	for resource, limit := range limits {
		if err := LowerLimit(resource, limit); err != nil {
			return err
		}
	}
	return nil
}
