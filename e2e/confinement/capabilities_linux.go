package confinement

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// DropCapabilities takes from this thread, and from the processes that it starts, what root may do and others may not, for good. The
// caller has locked the goroutine to its thread.
func DropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges of executables: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // this was the last one
		}
		if err == nil && has == 1 {
			err = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		}
		// Those who may not drop it do not have it either, and can't get it any more; only root would, at the next execve.
		if err != nil && os.Geteuid() == 0 {
			return fmt.Errorf("give up capability %d: %w", capability, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}
