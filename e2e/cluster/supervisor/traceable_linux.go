package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tracee is set in the environment of a process that is about to become a [Process] that is Traceable: it holds the path of the
// executable.
const tracee = "TESTBED_TRACEE"

// Where Linux has Yama, as Ubuntu does, a process may be traced only by those that have started it, unless it asks for more
// itself. So a supervised process that is to be traceable starts as this program, asks, and executes the other in its place.
//
// It does so in init, because then it is on the main thread for certain: what is asked for is lost if another thread executes.
func init() {
	path, ok := os.LookupEnv(tracee)
	if !ok {
		return
	}
	_ = os.Unsetenv(tracee)
	_ = unix.Prctl(unix.PR_SET_PTRACER, unix.PR_SET_PTRACER_ANY, 0, 0, 0) // EINVAL says that there is no Yama
	err := syscall.Exec(path, os.Args, os.Environ())
	fmt.Fprintf(os.Stderr, "execute %s: %v\n", path, err)
	os.Exit(1)
}

// makeTraceable changes a command so that a debugger of the same user can attach to it.
func makeTraceable(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), tracee+"="+cmd.Path)
	cmd.Path = "/proc/self/exe"
}
