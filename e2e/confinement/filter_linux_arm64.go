package confinement

import "golang.org/x/sys/unix"

const platform = unix.AUDIT_ARCH_AARCH64

// oldCalls are those that this platform never had.
var oldCalls []uint32
