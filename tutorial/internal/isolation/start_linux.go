package isolation

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// start starts a cell: a process with the walls around it, which reads from its stdin what it is to do. It has a session of its own, or
// the processes of the cell could type into the grader's terminal.
func (w Walls) start(ctx context.Context, c Command) (cell, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec := specification{Kind: w.outer, Args: c.Args, Dir: c.Dir, Env: c.Env, Limits: c.Limits, Report: c.Report != nil}
	if w.outer != none {
		if spec.Mounts, err = mounts(c, self); err != nil {
			return nil, err
		}
	}
	p := &process{started: make(chan error, 1), ended: make(chan struct{})}
	switch w.outer {
	case namespaces:
		p.cmd = exec.Command("/proc/self/exe", cellCommand)
		p.cmd.SysProcAttr = ownNamespaces()
	case bubblewrap:
		path, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, err
		}
		p.cmd = exec.Command(path, bubblewrapArgs(spec, self)...)
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	case container:
		if err := ensureImage(ctx); err != nil {
			return nil, err
		}
		p.name = "isolation-" + strings.ToLower(rand.Text())
		p.cmd = exec.Command("docker", containerArgs(spec, p.name, self)...)
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	default:
		p.cmd = exec.Command("/proc/self/exe", cellCommand)
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if p.name == "" {
		p.cmd.Env = []string{"PATH=/usr/bin:/bin"} // its own; the command has another one
	}
	p.cmd.Stdout, p.cmd.Stderr = c.Stdout, c.Stderr
	// Whoever holds the other ends of the pipes would keep us waiting. Nothing of a cell is left by then.
	p.cmd.WaitDelay = 10 * time.Second
	if p.lifeline, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	go p.run()
	if err := <-p.started; err != nil {
		return nil, err
	}
	if err := json.NewEncoder(p.lifeline).Encode(spec); err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, os.ErrClosed) { // it has ended, and says why
		p.end()
		return nil, errors.Join(err, p.waitErr())
	}
	return p, nil
}

// process is a cell whose init process, or what started that, is a child of ours.
type process struct {
	cmd      *exec.Cmd
	name     string // of the container, or empty
	lifeline io.WriteCloser

	started chan error
	ended   chan struct{} // closed when err is set
	err     error

	mu  sync.Mutex
	pid int // of the container's init process on this machine
}

// run starts the process and waits for it on one thread, because the kernel kills it when the thread that started it exits, which is for
// Go to decide.
func (p *process) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	p.started <- err
	if err != nil {
		close(p.ended)
		return
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *process) root() int {
	if p.name == "" {
		return p.cmd.Process.Pid
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		out, err := exec.Command("docker", "inspect", "--format={{.State.Pid}}", p.name).Output()
		if err == nil {
			p.pid, _ = strconv.Atoi(strings.TrimSpace(string(out)))
		}
	}
	return p.pid
}

// end closes the lifeline, and the init process then ends everything. With our own namespaces the kernel does, also when the init process
// does not react.
func (p *process) end() {
	_ = p.lifeline.Close()
	if len(p.cmd.SysProcAttr.UidMappings) > 0 {
		_ = p.cmd.Process.Kill()
	}
}

func (p *process) waitErr() error {
	<-p.ended
	return p.err
}

func (p *process) wait() (exit int, cpu time.Duration, err error) {
	err = p.waitErr()
	_ = p.lifeline.Close()
	if p.name != "" {
		// It is gone already, unless the client was ended before it.
		_ = exec.Command("docker", "rm", "--force", p.name).Run()
	}
	return outcome(p.cmd.ProcessState, err)
}

// ownNamespaces gives a process namespaces in which it may build a cell, as the user that it is.
func ownNamespaces() *syscall.SysProcAttr {
	uid, gid := os.Getuid(), os.Getgid()
	return &syscall.SysProcAttr{
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		// The kernel gives them to the first process of a user namespace, and whoever is not root would lose them at execve.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP},
	}
}

// bubblewrapArgs are those of bwrap that build the same cell around the init process.
func bubblewrapArgs(spec specification, self string) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--hostname", hostname,
		"--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--clearenv",
		"--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", // why /proc is read-only, see build
	}
	for _, dir := range inMemory {
		if spec.Limits.Memory > 0 {
			args = append(args, "--size", strconv.FormatInt(spec.Limits.Memory, 10))
		}
		args = append(args, "--tmpfs", dir)
	}
	for _, m := range spec.Mounts {
		if m.Source == "" {
			if spec.Limits.Scratch > 0 {
				args = append(args, "--size", strconv.FormatInt(spec.Limits.Scratch, 10))
			}
			args = append(args, "--tmpfs", m.Target)
			continue
		}
		how := "--ro-bind"
		if m.Writable {
			how = "--bind"
		}
		args = append(args, how, m.Source, m.Target)
	}
	return append(args, "--remount-ro", "/", "--chdir", "/", "--", self, cellCommand)
}

// image is the name of an image with nothing in it.
const image = "operator-testbed/cell:empty"

// ensureImage makes the image, if it is missing.
func ensureImage(ctx context.Context) error {
	if err := exec.CommandContext(ctx, "docker", "image", "inspect", image).Run(); err == nil {
		return nil
	}
	// Two blocks of zeros end an archive.
	imports := exec.CommandContext(ctx, "docker", "import", "-", image)
	imports.Stdin = bytes.NewReader(make([]byte, 1024))
	if out, err := imports.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(string(out)))
	}
	return nil
}

// containerArgs are those of Docker that build the same cell around the init process.
func containerArgs(spec specification, name, self string) []string {
	args := []string{
		"run", "--rm", "--interactive", "--name", name, "--hostname", hostname, "--pull", "never",
		"--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--workdir", "/", "--entrypoint", self,
	}
	for _, dir := range inMemory {
		if dir == sharedMemory {
			continue // it has one of its own
		}
		options := "exec,mode=1777"
		if spec.Limits.Memory > 0 {
			options += fmt.Sprintf(",size=%d", spec.Limits.Memory)
		}
		args = append(args, "--tmpfs", dir+":"+options)
	}
	if spec.Limits.Memory > 0 {
		// More than is watched: it bounds what is taken between two looks, and what these do not count. See outOfMemory.
		args = append(args, "--memory", strconv.FormatInt(2*spec.Limits.Memory, 10))
	}
	if spec.Limits.Processes > 0 {
		args = append(args, "--pids-limit", strconv.Itoa(2*spec.Limits.Processes))
	}
	for _, m := range spec.Mounts {
		if m.Source == "" {
			args = append(args, "--tmpfs", m.Target+":exec,"+scratch(spec.Limits))
			continue
		}
		how := "type=bind,source=" + m.Source + ",target=" + m.Target
		if !m.Writable {
			how += ",readonly"
		}
		args = append(args, "--mount", how)
	}
	return append(args, image, cellCommand)
}
