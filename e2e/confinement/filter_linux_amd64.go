package confinement

import "golang.org/x/sys/unix"

const platform = unix.AUDIT_ARCH_X86_64

// oldCalls are refused as their successors are, which later platforms have alone.
var oldCalls = []uint32{
	unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN,
	unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}
