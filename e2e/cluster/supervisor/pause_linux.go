package supervisor

import "golang.org/x/sys/unix"

// held reports whether a child of ours is held by a SIGSTOP, all of its
// threads, or has ended.
func held(pid int) bool {
	var info unix.Siginfo
	// WNOWAIT: it is for reap to learn of the end.
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}
