package framework

import "golang.org/x/sys/unix"

// hideProcess keeps other processes of the same user away from this one's files and memory, which they could otherwise reach through
// /proc and ptrace. Programs that this process executes are not hidden.
func hideProcess() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
