package isolation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/operator-testbed/e2e/confinement"
)

// cellMain is what the init process of a cell does: build the cell where that is not done yet, start the command, take in processes
// that lose their parents, and end all of them with the command or when the lifeline is closed. It returns the exit code.
func cellMain() int {
	// What it is permitted, and what its child inherits, belongs to a thread.
	runtime.LockOSThread()
	decoder := json.NewDecoder(os.Stdin)
	var spec specification
	if err := decoder.Decode(&spec); err != nil {
		return fail(fmt.Errorf("read what to do: %w", err))
	}
	// A terminal's Ctrl-C is for the grader, which then ends the cell.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := prepare(spec); err != nil {
		return fail(err)
	}
	command := exec.Command(spec.Args[0], spec.Args[1:]...)
	command.Dir, command.Env = spec.Dir, spec.Env
	if command.Dir == "" {
		command.Dir = "/"
	}
	if command.Env == nil {
		command.Env = []string{}
	}
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	reported, err := start(command, spec.Report)
	if err != nil {
		return fail(fmt.Errorf("start the command: %w", err))
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if spec.Kind != none {
			os.Exit(signaled + int(unix.SIGKILL)) // with a PID namespace, the kernel ends everything when its first process has ended
		}
		killOthers() // and so the command, which is waited for
	}()
	exit := reap(command.Process.Pid)
	if spec.Kind == none {
		endOthers()
	}
	select {
	case <-reported:
	case <-time.After(untilReported):
	}
	if spec.Kind == container && outOfMemory() {
		return fail(errOutOfMemory)
	}
	return exit
}

// untilReported bounds how long the rest of a report is waited for after the command has ended. A process that has inherited the
// descriptor would otherwise keep the cell.
const untilReported = 5 * time.Second

// start starts the command, with a pipe for its report if it has one. The channel is closed when all of the report was passed on.
func start(command *exec.Cmd, report bool) (reported <-chan struct{}, err error) {
	done := make(chan struct{})
	if !report {
		close(done)
		return done, command.Start()
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.Stdout, command.ExtraFiles = os.Stderr, []*os.File{write} // the first is ReportDescriptor
	if err := errors.Join(command.Start(), write.Close()); err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(os.Stdout, read)
		close(done)
	}()
	return done, nil
}

// outOfMemory returns whether the kernel has killed a process of this container, because together they took more memory than it has.
func outOfMemory() bool {
	for _, file := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} { // control groups of version 2, and 1
		content, _ := os.ReadFile(file)
		for line := range strings.Lines(string(content)) {
			if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" && count != "0" {
				return true
			}
		}
	}
	return false
}

// fail reports why there is no cell, or no longer, so that Run knows it for no word of the command.
func fail(err error) int {
	fmt.Fprintf(os.Stderr, "%s%v\n", failure, err)
	return exitFailure
}

// prepare does what comes before the command.
func prepare(spec specification) error {
	if spec.Kind == namespaces {
		if err := build(spec); err != nil {
			return err
		}
	}
	if spec.Kind == none {
		// Without a namespace, those that lose their parents come to us all the same.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("become the parent of orphans: %w", err)
		}
	}
	if err := limitSelf(spec); err != nil {
		return fmt.Errorf("limit what the cell uses: %w", err)
	}
	if spec.Kind != none {
		if err := confinement.DropCapabilities(); err != nil {
			return err
		}
	}
	// Other processes of the cell must not open what this one has open: the report, and the lifeline.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the first process: %w", err)
	}
	return nil
}

// limitSelf sets the limits that the kernel keeps, of this process and those that come from it. What they do not cover is watched from
// outside.
func limitSelf(spec specification) error {
	if err := confinement.LowerLimit(unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if limit := spec.Limits.FileSize; limit > 0 {
		if err := confinement.LowerLimit(unix.RLIMIT_FSIZE, uint64(limit)); err != nil {
			return err
		}
	}
	if limit := spec.Limits.Processes; limit > 0 && (spec.Kind == namespaces || spec.Kind == bubblewrap) {
		// In a user namespace the kernel counts the processes that this user has in it. Twice the limit, so that the one who watches
		// sees it exceeded.
		if err := confinement.LowerLimit(unix.RLIMIT_NPROC, uint64(2*limit)); err != nil {
			return err
		}
	}
	return nil
}

// limitIDs bounds the ids of processes, and so their number, which RLIMIT_NPROC does not do for root. Where it can't, the number is only
// watched. Before Linux 6.14 there is one such bound for the whole machine, and root may change it from within a user namespace, too.
func limitIDs(processes int) {
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); processes == 0 || err != nil || !boundsIDsOfNamespaces(unix.ByteSliceToString(kernel.Release[:])) {
		return
	}
	const reserved = 300 // ids below are not given again
	_ = os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(reserved+2*processes)), 0)
}

// boundsIDsOfNamespaces returns whether Linux of that release, such as "6.14.0-rc1", has a bound for each PID namespace.
func boundsIDsOfNamespaces(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
}

// reap waits for all children until the command is among them, and returns its exit code.
func reap(command int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fail(fmt.Errorf("wait for the command: %w", err))
		case pid != command:
		case status.Signaled():
			return signaled + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// endOthers ends all processes that come from this one. It returns when this one has no children: only then is nothing left, because
// those that lose their parents become its own. A look at /proc does not show that: a process that is not there yet may have been
// started by one that is not there any more.
func endOthers() {
	for {
		killOthers()
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if errors.Is(err, unix.ECHILD) {
				return
			}
			if pid == 0 { // there are some, which have not ended yet
				break
			}
		}
		<-time.After(time.Millisecond)
	}
}

// killOthers kills the processes that come from this one, as far as it sees them.
func killOthers() {
	for _, s := range descendants(os.Getpid())[1:] {
		_ = unix.Kill(s.PID, unix.SIGKILL)
	}
}
