package supervisor

import "golang.org/x/sys/unix"

// stoppedState is SSTOP of <sys/proc.h>.
const stoppedState = 4

// held reports whether a process is held by a SIGSTOP, or has ended.
func held(pid int) bool {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == stoppedState || info.Proc.P_stat == zombie
}
