//go:build amd64 || arm64

package confinement

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter of system calls is a list of rules: the first that matches a call decides, and what none matches is allowed. It closes
// what Landlock leaves open. Why there is no library: decision 17.

// rule decides about calls of one number.
type rule struct {
	call uint32
	when []argument // all of them
	then uint32     // what the filter returns
}

// argument is a condition on an argument of a call. The kernel takes all those below as 32 bits.
type argument struct {
	index       uint32
	mask, value uint32
	differs     bool // the masked argument differs from value
}

const allow = unix.SECCOMP_RET_ALLOW

// refuse makes a call fail.
func refuse(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

const every = ^uint32(0)

// newestCall is the highest number of a system call that these rules were written for, of Linux 6.18. Later ones do not exist for the
// program, so that none of them undoes the rules.
const newestCall = 469

// rules returns the rules for a process. They hold its id, which an execve leaves as it is.
func rules(pid int) []rule {
	self := uint32(pid)
	var all []rule
	add := func(then uint32, call uint32, when ...argument) { all = append(all, rule{call, when, then}) }

	// Nothing but TCP. Unix sockets reach the supervisor and etcd, and before version 9 Landlock does not restrict them. UDP and
	// Multipath TCP reach whoever listens; where Multipath TCP is said not to exist, Go uses plain TCP.
	const typeMask = 0xf // the rest are flags
	add(refuse(unix.EPROTONOSUPPORT), unix.SYS_SOCKET, argument{index: 2, mask: every, value: unix.IPPROTO_MPTCP})
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range []uint32{0, unix.IPPROTO_TCP} {
			add(allow, unix.SYS_SOCKET, argument{index: 0, mask: every, value: family},
				argument{index: 1, mask: typeMask, value: unix.SOCK_STREAM}, argument{index: 2, mask: every, value: protocol})
		}
	}
	add(refuse(unix.EACCES), unix.SYS_SOCKET)
	add(refuse(unix.EACCES), unix.SYS_SOCKETPAIR)
	// TCP Fast Open connects when it sends, which Landlock does not see.
	for call, flags := range map[uint32]uint32{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		add(refuse(unix.EOPNOTSUPP), call, argument{index: flags, mask: unix.MSG_FASTOPEN, value: unix.MSG_FASTOPEN})
	}

	// One process: no daemon that outlives it, no bomb, no namespaces. Go makes its threads with clone.
	add(refuse(unix.ENOSYS), unix.SYS_CLONE3) // its flags are in memory, where no filter sees them
	add(refuse(unix.EPERM), unix.SYS_CLONE, argument{index: 0, mask: unix.CLONE_THREAD, value: unix.CLONE_THREAD, differs: true})

	// No signals and no priorities but its own: Landlock knows of signals from version 6 on, and of priorities not at all.
	for _, call := range []uint32{unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO} {
		add(refuse(unix.EPERM), call, argument{index: 0, mask: every, value: self, differs: true})
	}
	for _, call := range []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY} {
		add(refuse(unix.EPERM), call, argument{index: 0, mask: every, value: self, differs: true}, argument{index: 0, mask: every, differs: true})
	}
	add(refuse(unix.ENOSYS), unix.SYS_PIDFD_SEND_SIGNAL) // Go then uses kill
	// A file that has something to say signals its owner, who may be any process.
	for _, command := range []uint32{unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG} {
		add(refuse(unix.EPERM), unix.SYS_FCNTL, argument{index: 1, mask: every, value: command})
	}
	for _, command := range []uint32{setOwner, unix.SIOCSPGRP} {
		add(refuse(unix.EPERM), unix.SYS_IOCTL, argument{index: 1, mask: every, value: command})
	}

	// Memory that RLIMIT_DATA does not count: what is shared, and stacks besides the one that the program starts with. The copy of a stack
	// is one, too.
	const shared = unix.MAP_SHARED | unix.MAP_ANONYMOUS
	add(refuse(unix.EPERM), unix.SYS_MMAP, argument{index: 3, mask: shared, value: shared})
	add(refuse(unix.EPERM), unix.SYS_MMAP, argument{index: 3, mask: unix.MAP_GROWSDOWN, value: unix.MAP_GROWSDOWN})
	add(refuse(unix.EPERM), unix.SYS_MREMAP)

	for _, call := range slices.Concat(oldCalls, []uint32{
		unix.SYS_TKILL, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
		unix.SYS_SETPGID, unix.SYS_SETSID, // the supervisor signals the group
		unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
		// Other processes' memory and files.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
		unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
		// Files that can only be named, which Landlock does not restrict.
		unix.SYS_TRUNCATE, unix.SYS_FCHMODAT, fchmodat2, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, setxattrat, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, removexattrat,
		unix.SYS_OPEN_BY_HANDLE_AT,
		// Memory that belongs to no process, and is in nobody's account.
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET, unix.SYS_MQ_OPEN,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		// The whole machine's log, its disks, and what happens in its file systems.
		unix.SYS_SYSLOG, unix.SYS_FANOTIFY_INIT, unix.SYS_SYNC, unix.SYS_SYNCFS,
		// Ways past all of this, and large parts of the kernel that no operator needs.
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD, unix.SYS_BPF,
		unix.SYS_PERF_EVENT_OPEN, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PERSONALITY, unix.SYS_EXECVEAT,
	}) {
		add(refuse(unix.EPERM), call)
	}
	return all
}

// setOwner is FIOSETOWN, which golang.org/x/sys has no name for.
const setOwner = 0x8901

// Calls that golang.org/x/sys has no names for on every platform. Since Linux 5.1 they have the same number everywhere.
const (
	fchmodat2     = 452
	setxattrat    = 463
	removexattrat = 466
)

// Offsets in what a filter sees of a call, struct seccomp_data.
const (
	offsetNumber, offsetPlatform, offsetArguments = 0, 4, 16
)

// program compiles the rules. A call in another platform's numbers, such as that of 32 bits or x32, kills the process.
func program(all []rule) []bpf.Instruction {
	instructions := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetPlatform, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: platform, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newestCall, SkipTrue: 1},
		bpf.RetConstant{Val: refuse(unix.ENOSYS)},
	}
	for _, r := range all {
		instructions = append(instructions, r.compile()...)
	}
	return append(instructions, bpf.RetConstant{Val: allow})
}

// compile returns instructions that come to their end if the call does not match.
func (r rule) compile() []bpf.Instruction {
	body := []bpf.Instruction{bpf.RetConstant{Val: r.then}}
	for _, condition := range slices.Backward(r.when) {
		test := bpf.JumpEqual
		if condition.differs {
			test = bpf.JumpNotEqual
		}
		body = append([]bpf.Instruction{
			bpf.LoadAbsolute{Off: offsetArguments + 8*condition.index, Size: 4}, // the lower half: both platforms are little-endian
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: condition.mask},
			bpf.JumpIf{Cond: test, Val: condition.value, SkipFalse: uint8(len(body))},
		}, body...)
	}
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: uint8(len(body))},
	}, body...)
}

// filterCalls installs the filter for this thread. The thread has given up privileges of executables, as the kernel asks.
func filterCalls(pid int) error {
	raw, err := bpf.Assemble(program(rules(pid)))
	if err != nil {
		return fmt.Errorf("compile the filter of system calls: %w", err)
	}
	filters := make([]unix.SockFilter, len(raw))
	for i, instruction := range raw {
		filters[i] = unix.SockFilter{Code: instruction.Op, Jt: instruction.Jt, Jf: instruction.Jf, K: instruction.K}
	}
	installed := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&installed)), 0, 0)
	runtime.KeepAlive(filters)
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}
