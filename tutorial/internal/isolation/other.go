//go:build !linux

package isolation

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// start starts a command in a process group of its own. There are walls on Linux only, so there is none to build.
func (w Walls) start(_ context.Context, c Command) (cell, error) {
	if w.outer != none {
		return nil, errors.New("it takes Linux")
	}
	g := group{cmd: exec.Command(c.Args[0], c.Args[1:]...), reported: make(chan struct{})}
	g.cmd.Dir, g.cmd.Env = c.Dir, append([]string{}, c.Env...)
	g.cmd.Stdout, g.cmd.Stderr = c.Stdout, c.Stderr
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Report == nil {
		close(g.reported)
		return g, g.cmd.Start()
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g.cmd.Stdout, g.cmd.ExtraFiles = c.Stderr, []*os.File{write} // the first is ReportDescriptor
	go func() {
		_, _ = io.Copy(c.Report, read)
		close(g.reported)
	}()
	return g, errors.Join(g.cmd.Start(), write.Close())
}

// group is a cell without walls: a process group.
type group struct {
	cmd      *exec.Cmd
	reported chan struct{} // closed when all of the report was passed on
}

func (g group) root() int { return g.cmd.Process.Pid }

func (g group) end() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }

func (g group) wait() (exit int, cpu time.Duration, err error) {
	err = g.cmd.Wait()
	g.end() // what is left of it
	<-g.reported
	return outcome(g.cmd.ProcessState, err)
}

// consumptionOf knows nothing here: of the limits, only the time is kept.
func consumptionOf(int) consumption { return consumption{} }

// cellMain is for Linux.
func cellMain() int { return exitFailure }
