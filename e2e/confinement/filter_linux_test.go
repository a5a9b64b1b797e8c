//go:build amd64 || arm64

package confinement

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestFilter runs the filter on calls that no test can make, such as those of other platforms.
func TestFilter(t *testing.T) {
	const pid = 4711
	vm, err := bpf.NewVM(program(rules(pid)))
	if err != nil {
		t.Fatal(err)
	}
	const fastOpen = unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL
	const thread = unix.CLONE_VM | unix.CLONE_THREAD
	for _, tc := range []struct {
		name      string
		platform  uint32
		call      uint32
		arguments []uint32
		want      uint32
	}{
		{"what no rule is about", platform, unix.SYS_READ, nil, allow},
		{"another platform's numbers", unix.AUDIT_ARCH_I386, unix.SYS_READ, nil, unix.SECCOMP_RET_KILL_PROCESS},
		{"x32", platform, 1<<30 | unix.SYS_READ, nil, refuse(unix.ENOSYS)},
		{"a call of the future", platform, newestCall + 1, nil, refuse(unix.ENOSYS)},

		{"TCP", platform, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, allow},
		{"TCP by name", platform, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, allow},
		{"Multipath TCP", platform, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, refuse(unix.EPROTONOSUPPORT)},
		{"SCTP", platform, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, refuse(unix.EACCES)},
		{"UDP", platform, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_DGRAM, 0}, refuse(unix.EACCES)},
		{"a raw socket", platform, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_TCP}, refuse(unix.EACCES)},
		{"a Unix socket", platform, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM, 0}, refuse(unix.EACCES)},
		{"netlink", platform, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, 0}, refuse(unix.EACCES)},
		{"to send", platform, unix.SYS_SENDTO, []uint32{3, 0, 0, unix.MSG_NOSIGNAL}, allow},
		{"to connect by sending", platform, unix.SYS_SENDTO, []uint32{3, 0, 0, fastOpen}, refuse(unix.EOPNOTSUPP)},
		{"to connect by sending a message", platform, unix.SYS_SENDMSG, []uint32{3, 0, fastOpen}, refuse(unix.EOPNOTSUPP)},
		{"to connect by sending messages", platform, unix.SYS_SENDMMSG, []uint32{3, 0, 1, fastOpen}, refuse(unix.EOPNOTSUPP)},

		{"a thread", platform, unix.SYS_CLONE, []uint32{thread}, allow},
		{"a process", platform, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_VFORK}, refuse(unix.EPERM)},
		{"a process whose flags are in memory", platform, unix.SYS_CLONE3, nil, refuse(unix.ENOSYS)},
		{"a namespace", platform, unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER}, refuse(unix.EPERM)},

		{"a signal to itself", platform, unix.SYS_KILL, []uint32{pid, 9}, allow},
		{"a signal to its thread", platform, unix.SYS_TGKILL, []uint32{pid, 4712, 23}, allow},
		{"a signal to another", platform, unix.SYS_KILL, []uint32{1, 9}, refuse(unix.EPERM)},
		{"a signal to all", platform, unix.SYS_KILL, []uint32{^uint32(0), 9}, refuse(unix.EPERM)},
		{"a signal to its group", platform, unix.SYS_KILL, []uint32{0, 9}, refuse(unix.EPERM)},
		{"a signal to another's thread", platform, unix.SYS_TGKILL, []uint32{1, 1, 9}, refuse(unix.EPERM)},
		{"a file's flags", platform, unix.SYS_FCNTL, []uint32{3, unix.F_SETFL, unix.O_NONBLOCK}, allow},
		{"a signal by a file", platform, unix.SYS_FCNTL, []uint32{3, unix.F_SETOWN, 1}, refuse(unix.EPERM)},
		{"another signal by a file", platform, unix.SYS_FCNTL, []uint32{3, unix.F_SETSIG, 9}, refuse(unix.EPERM)},
		{"a signal by a socket", platform, unix.SYS_IOCTL, []uint32{3, setOwner, 0}, refuse(unix.EPERM)},
		{"the kernel's log", platform, unix.SYS_SYSLOG, []uint32{3}, refuse(unix.EPERM)},
		{"another group", platform, unix.SYS_SETPGID, []uint32{0, 1}, refuse(unix.EPERM)},
		{"its own limits", platform, unix.SYS_PRLIMIT64, []uint32{0, unix.RLIMIT_NOFILE}, allow},
		{"its own limits, by its id", platform, unix.SYS_PRLIMIT64, []uint32{pid, unix.RLIMIT_NOFILE}, allow},
		{"the limits of another", platform, unix.SYS_PRLIMIT64, []uint32{1, unix.RLIMIT_NOFILE}, refuse(unix.EPERM)},

		{"memory", platform, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE}, allow},
		{"a file in memory", platform, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED}, allow},
		{"memory that is shared", platform, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED | unix.MAP_ANONYMOUS}, refuse(unix.EPERM)},
		{"memory that is shared, and checked", platform, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED_VALIDATE | unix.MAP_ANONYMOUS}, refuse(unix.EPERM)},
		{"a stack", platform, unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_GROWSDOWN}, refuse(unix.EPERM)},
		{"a larger copy of a stack", platform, unix.SYS_MREMAP, nil, refuse(unix.EPERM)},

		{"io_uring", platform, unix.SYS_IO_URING_SETUP, nil, refuse(unix.EPERM)},
		{"userfaultfd", platform, unix.SYS_USERFAULTFD, nil, refuse(unix.EPERM)},
		{"bpf", platform, unix.SYS_BPF, nil, refuse(unix.EPERM)},
		{"ptrace", platform, unix.SYS_PTRACE, nil, refuse(unix.EPERM)},
		{"memory that belongs to no process", platform, unix.SYS_MEMFD_CREATE, nil, refuse(unix.EPERM)},
	} {
		// The machine for tests reads numbers as networks send them, and the kernel's reads its own.
		data := make([]byte, offsetArguments+6*8)
		binary.BigEndian.PutUint32(data[offsetNumber:], tc.call)
		binary.BigEndian.PutUint32(data[offsetPlatform:], tc.platform)
		for i, argument := range tc.arguments {
			binary.BigEndian.PutUint32(data[offsetArguments+8*i:], argument)
		}
		got, err := vm.Run(data)
		if err != nil || uint32(got) != tc.want {
			t.Errorf("%s: got %#x, %v, expected %#x", tc.name, got, err, tc.want)
		}
	}
}
