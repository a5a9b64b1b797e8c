package supervisor

import "syscall"

// ownGroup puts a child into a process group of its own. macOS has no
// parent-death signal: what a killed supervisor leaves is ended by Clean.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
