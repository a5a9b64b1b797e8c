package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A Guard is a process that stops the commands of this one when this one exits and has not stopped them.
type Guard struct {
	pipe *os.File // the guard reads it to its end
	self string
}

// The first arguments with which this program is a guard, and with which it becomes a command.
const (
	guardRole   = "process-guard"
	commandRole = "process-command"
)

// guardFile is the file descriptor of the guard's pipe in a process that becomes a command.
const guardFile = 3

// Become must be called first in main, and in TestMain of tests that start commands: it does not return in a process that this package
// has started.
func Become() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case guardRole:
		grace, err := time.ParseDuration(os.Args[2])
		if err != nil {
			panic(err)
		}
		guard(os.Stdin, grace)
		os.Exit(0)
	case commandRole:
		err := become(os.Args[2], os.Args[3:])
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, fs.ErrNotExist) {
			os.Exit(exitNotFound)
		}
		os.Exit(exitNotExecutable)
	}
}

// Exit codes of a command that can't be executed, as in a shell.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// become makes this process a command. Before that, it reports its process group, so that the guard knows of the group whenever this
// process's parent exits.
func become(path string, argv []string) error {
	pipe := os.NewFile(guardFile, "guard")
	if _, err := fmt.Fprintf(pipe, "+%d\n", os.Getpid()); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	syscall.CloseOnExec(guardFile)
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, argv, os.Environ()))
}

// NewGuard starts a guard. When this process exits, the guard interrupts what still runs, and kills what is left after the grace period.
func NewGuard(grace time.Duration) (*Guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	defer reader.Close()
	cmd := exec.Command(self, guardRole, grace.String())
	cmd.Stdin = reader
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals from a terminal do not reach it
	if err := cmd.Start(); err != nil {
		_ = writer.Close()
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &Guard{pipe: writer, self: self}, cmd.Process.Release()
}

// Close makes the guard stop the commands that run, and exit.
func (g *Guard) Close() error { return g.pipe.Close() }

// forget takes a group from the guard, before its id can become another's.
func (g *Guard) forget(group int) {
	_, _ = fmt.Fprintf(g.pipe, "-%d\n", group)
}

// guard reads which groups run until the end of the input, and stops those that still do.
func guard(input io.Reader, grace time.Duration) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	running := map[int]bool{}
	for lines := bufio.NewScanner(input); lines.Scan(); {
		text := lines.Text()
		if len(text) < 2 {
			continue
		}
		group, err := strconv.Atoi(text[1:])
		switch {
		case err != nil || group < 2:
		case text[0] == '+':
			running[group] = true
		default:
			delete(running, group)
		}
	}
	done := make(chan struct{}, len(running))
	for group := range running {
		go func() {
			end(group, exited(group), grace, nil)
			done <- struct{}{}
		}()
	}
	for range running {
		<-done
	}
}

// look is how often exited looks: no event reports the exit of a process that is not a child.
const look = 200 * time.Millisecond

// exited returns a channel that is closed when a process that is not a child has exited.
func exited(pid int) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for range time.Tick(look) {
			all, err := List()
			if err == nil && !slices.ContainsFunc(all, func(p Info) bool { return p.PID == pid && !p.Exited }) {
				return
			}
		}
	}()
	return closed
}
