package process

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A Command is what to start. Its standard input is empty.
type Command struct {
	Args           []string
	Dir            string
	Env            []string
	Stdout, Stderr *os.File
}

// A Job is a command that runs, with everything that it has started in the same process group.
type Job struct {
	guard *Guard
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
	// interrupted is set when what the command has left is to be killed anyway, and may be dying.
	interrupted atomic.Bool
}

// Start starts a command.
func (g *Guard) Start(c Command) (*Job, error) {
	path := c.Args[0]
	if !strings.Contains(path, "/") { // else it is relative to the command's directory
		found, err := exec.LookPath(path)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", path, err)
		}
		path = found
	}
	cmd := exec.Command(g.self, append([]string{commandRole, path}, c.Args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdout, c.Stderr
	cmd.ExtraFiles = []*os.File{g.pipe}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	j := &Job{guard: g, cmd: cmd, ended: make(chan struct{})}
	go func() {
		j.err = cmd.Wait()
		close(j.ended)
	}()
	return j, nil
}

// Ended returns a channel that is closed when the command has exited. What it has started may still run.
func (j *Job) Ended() <-chan struct{} { return j.ended }

// Finish waits until the command has exited, and kills what it has left in its group. It returns the exit code, the processor time of the
// command and of what it has waited for, and what it has killed unless the command was interrupted.
func (j *Job) Finish() (code int, cpu time.Duration, killed []Info) {
	<-j.ended
	if left := members(j.cmd.Process.Pid); len(left) > 0 {
		if !j.interrupted.Load() {
			killed = left
		}
		_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL)
	}
	j.guard.forget(j.cmd.Process.Pid)
	state := j.cmd.ProcessState
	code = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as in a shell
	}
	return code, state.UserTime() + state.SystemTime(), killed
}

// Interrupt interrupts the command and everything in its group, and kills what is left when the command has exited. It kills the command,
// too, after the grace period or as soon as now is closed, with everything that it has started outside the group. It returns what it has
// killed then.
func (j *Job) Interrupt(grace time.Duration, now <-chan struct{}) []Info {
	j.interrupted.Store(true)
	return end(j.cmd.Process.Pid, j.ended, grace, now)
}

// Quit makes all test binaries that the command has started print their goroutines and exit, and reports how many there are.
func (j *Job) Quit() int {
	all, _ := List() // without a list there is no one to signal, and the caller goes on to end the job
	asked := 0
	for _, p := range Descendants(all, j.cmd.Process.Pid) {
		if p.IsTest() && !p.Exited && syscall.Kill(p.PID, syscall.SIGQUIT) == nil {
			asked++
		}
	}
	return asked
}

// end interrupts a process group. It kills what is left of it when the process that leads it has exited, after the grace period, or as soon
// as now is closed. It returns what it has killed unless the leader has exited.
func end(group int, exited <-chan struct{}, grace time.Duration, now <-chan struct{}) []Info {
	_ = syscall.Kill(-group, syscall.SIGINT)
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-exited:
		_ = syscall.Kill(-group, syscall.SIGKILL)
		return nil
	case <-patience.C:
	case <-now:
	}
	all, _ := List()
	// What has left the group, such as a command of another runner, is found by its parent.
	killed := slices.DeleteFunc(append(Descendants(all, group), members(group)...), func(p Info) bool { return p.Exited })
	slices.SortFunc(killed, func(a, b Info) int { return a.PID - b.PID })
	killed = slices.CompactFunc(killed, func(a, b Info) bool { return a.PID == b.PID })
	_ = syscall.Kill(-group, syscall.SIGKILL)
	for _, p := range killed {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	return killed
}

// members returns the processes of a group that have not exited.
func members(group int) []Info {
	if syscall.Kill(-group, 0) != nil {
		return nil
	}
	all, _ := List()
	return slices.DeleteFunc(all, func(p Info) bool { return p.Group != group || p.Exited })
}
