package progress

import (
	"os"
	"syscall"
	"unsafe"
)

// Terminal says how wide the terminal is that f is, as a function because a
// window changes. It is nil when f is not a terminal that can rewrite a line.
func Terminal(f *os.File) func() int {
	if os.Getenv("TERM") == "dumb" || width(f) < 0 {
		return nil
	}
	return func() int { return width(f) }
}

// width asks the kernel. It is -1 when f is not a terminal, and 0 for one that
// does not know.
func width(f *os.File) int {
	var size struct{ rows, columns, xPixels, yPixels uint16 }
	// The standard library has no other way, and this module must not need a
	// package only for it.
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return -1
	}
	return int(size.columns)
}
