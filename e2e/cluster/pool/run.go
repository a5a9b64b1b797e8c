package pool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

func init() { supervisor.RegisterTask(killGroup, killGroupAtEnd) }

// killGroup is the name of the task that ends the command of a pool whose owner was killed.
const killGroup = "kill-group"

// Run runs a command that starts suites, in its own process group. When ctx is done, the group gets one SIGINT, and is waited
// for. When this process is killed, so is the group.
func (p *Pool) Run(ctx context.Context, command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return err
	}
	group := command.Process.Pid
	err := p.dir.RunTask(context.WithoutCancel(ctx), killGroup, killGroup, group, nil)
	if err != nil {
		err = errors.Join(err, syscall.Kill(-group, syscall.SIGKILL))
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-group, syscall.SIGINT) })
	defer stop()
	err = errors.Join(err, command.Wait())
	return errors.Join(err, p.dir.StopTask(context.WithoutCancel(ctx), killGroup))
}

// killGroupAtEnd kills a process group when the supervisor ends, if its leader still runs: the owner of the pool waits for that first.
func killGroupAtEnd(ctx context.Context, s *supervisor.Server, group int) error {
	leader, err := os.FindProcess(group) // on Linux a handle: another process may get the number
	if err != nil {
		return fmt.Errorf("find the command: %w", err)
	}
	defer func() { _ = leader.Release() }()
	if err := s.Started(nil); err != nil {
		return err
	}
	<-ctx.Done()
	if leader.Signal(syscall.Signal(0)) != nil {
		return nil
	}
	return syscall.Kill(-group, syscall.SIGKILL)
}
