package supervisor

import "syscall"

// ownGroup puts a child into a process group of its own and ties its life to
// the supervisor's: not even a killed supervisor leaves it behind.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
