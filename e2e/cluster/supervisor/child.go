package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// child is a process in the hands of the supervisor, over all its runs.
type child struct {
	host *host
	spec Process

	mu       sync.Mutex
	state    State
	wanted   bool // false once it was stopped on purpose
	run      *run // the present or last run; nil before the first start
	restarts int
	pause    time.Duration // the last pause before a start
	retry    *time.Timer   // set in BackOff
}

// run is a process from its start to its exit.
type run struct {
	cmd     *exec.Cmd
	record  record
	started time.Time
	exit    ExitStatus    // valid once ended is closed
	ended   chan struct{} // closed when the process is gone and child knows it
}

// start begins a run unless there is one.
func (c *child) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
	switch c.state {
	case Running, Paused:
		return nil
	case BackOff:
		c.retry.Stop()
	}
	c.pause = 0
	return c.startLocked()
}

// startLocked begins a run. When that fails the state is Exited.
func (c *child) startLocked() error {
	if c.host.closing.Load() {
		return errClosing
	}
	if c.run != nil {
		c.restarts++
	}
	r := &run{started: time.Now(), ended: make(chan struct{})}
	if err := c.spawn(r); err != nil {
		err = fmt.Errorf("start %s: %w", c.spec.Name, err)
		r.exit = ExitStatus{Code: -1, Err: err.Error()}
		close(r.ended)
		c.run, c.state = r, Exited
		return err
	}
	c.run, c.state = r, Running
	c.host.remember(r.record)
	go c.reap(r)
	return nil
}

func (c *child) spawn(r *run) error {
	log, err := os.OpenFile(logPath(c.host.dir, c.spec.Name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	r.cmd = &exec.Cmd{
		Path: c.spec.Path, Args: append([]string{c.spec.Path}, c.spec.Args...),
		Env: c.spec.Env, Dir: c.spec.Dir,
		Stdout: log, Stderr: log,
	}
	if c.spec.Traceable {
		makeTraceable(r.cmd)
	}
	if err := c.host.spawner.start(r.cmd); err != nil {
		return err
	}
	pid := r.cmd.Process.Pid
	// Nobody has waited for it yet, so the id is still its own. If it has
	// ended already it has no birth, and needs none.
	born, _ := birth(pid)
	r.record = record{Name: c.spec.Name, PID: pid, Birth: born}
	return nil
}

// reap waits for the end of a run, after which a process with Restart starts again.
func (c *child) reap(r *run) {
	_ = r.cmd.Wait() // how it ended is in ProcessState
	// What it started and left behind in its group goes too.
	_ = syscall.Kill(-r.record.PID, syscall.SIGKILL)

	c.mu.Lock()
	defer c.mu.Unlock()
	r.exit = exitStatus(r.cmd.ProcessState)
	switch {
	case !c.wanted:
		c.state = Stopped
	case !c.spec.Restart || c.host.closing.Load():
		c.state = Exited
	default:
		c.backOff(time.Since(r.started))
		c.host.logf("%s %s; it starts again in %v", c.spec.Name, r.exit, c.pause)
	}
	c.host.forget(r.record)
	close(r.ended)
}

// backOff arranges the next start of a process that was running for ran.
func (c *child) backOff(ran time.Duration) {
	c.state = BackOff
	c.pause = pauseBefore(c.pause, ran)
	c.retry = time.AfterFunc(c.pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.state != BackOff {
			return // stopped or started in the meantime
		}
		if err := c.startLocked(); err != nil && !c.host.closing.Load() {
			c.host.logf("%v", err)
			c.backOff(0)
		}
	})
}

// stop ends the process for good and returns when it has ended. A grace that
// is not zero is the time between a SIGTERM and the SIGKILL.
func (c *child) stop(ctx context.Context, grace time.Duration) error {
	c.mu.Lock()
	c.wanted = false
	if c.state == BackOff {
		c.retry.Stop()
		c.state = Stopped
	}
	r := c.alive()
	if r == nil {
		if c.state == Exited {
			c.state = Stopped
		}
		c.mu.Unlock()
		return nil
	}
	if grace > 0 {
		r.signal(syscall.SIGTERM)
		r.signal(syscall.SIGCONT) // a paused process can't act on anything
		// A timer of its own, so that a caller who gives up early does not
		// keep the process alive.
		time.AfterFunc(grace, func() { r.signal(syscall.SIGKILL) })
	} else {
		r.signal(syscall.SIGKILL)
	}
	c.mu.Unlock()
	return r.wait(ctx, c.spec.Name)
}

// restart ends the present run, if there is one, and begins another.
func (c *child) restart(ctx context.Context) error {
	if err := c.stop(ctx, c.spec.Grace); err != nil {
		return err
	}
	return c.start()
}

// kill ends the present run by SIGKILL and returns when it has ended. What
// comes next is up to its Restart.
func (c *child) kill(ctx context.Context) error {
	c.mu.Lock()
	r := c.alive()
	if r == nil {
		defer c.mu.Unlock()
		return c.notRunning()
	}
	c.mu.Unlock()
	r.signal(syscall.SIGKILL)
	return r.wait(ctx, c.spec.Name)
}

// A process runs on for a short time after a SIGSTOP, and its state has to be polled: waiting for it would take the exit status from
// reap. A process that waits for its child to execute a program (vfork) does nothing as long as the child is stopped, and is never
// reported as stopped itself: hence the limit.
const (
	pausePoll  = time.Millisecond
	pauseLimit = 5 * time.Second
)

// setPaused holds the process with its group, or lets it go on.
func (c *child) setPaused(paused bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.alive()
	if r == nil {
		return c.notRunning()
	}
	if paused {
		c.state = Paused
		r.signal(syscall.SIGSTOP)
		for begin := time.Now(); !held(r.record.PID) && time.Since(begin) < pauseLimit; {
			<-time.After(pausePoll)
		}
	} else {
		c.state = Running
		r.signal(syscall.SIGCONT)
	}
	return nil
}

// wait waits until the current run exits and returns how it did, or returns how the last run exited.
func (c *child) wait(ctx context.Context) (ExitStatus, error) {
	c.mu.Lock()
	r := c.run
	c.mu.Unlock()
	if err := r.wait(ctx, c.spec.Name); err != nil {
		return ExitStatus{}, err
	}
	return r.exit, nil
}

func (c *child) alive() *run {
	if c.state == Running || c.state == Paused {
		return c.run
	}
	return nil
}

func (c *child) notRunning() error {
	return fmt.Errorf("%s does not run: its state is %s", c.spec.Name, c.state)
}

func (c *child) status() ProcessStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := ProcessStatus{Name: c.spec.Name, State: c.state, Restarts: c.restarts, Started: c.run.started}
	if c.alive() != nil {
		s.PID = c.run.record.PID
	} else {
		exit := c.run.exit
		s.Exit = &exit
	}
	return s
}

// signal signals the whole process group, each process once: a second SIGTERM
// means to many programs that they have no time left. The leader is asked
// first, through a handle that knows whether it has been waited for: only if
// not does the group carry its id for certain.
func (r *run) signal(sig syscall.Signal) {
	const nothing = syscall.Signal(0)
	if err := r.cmd.Process.Signal(nothing); err == nil {
		_ = syscall.Kill(-r.record.PID, sig)
	}
}

func (r *run) wait(ctx context.Context, name string) error {
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of %s: %w", name, context.Cause(ctx))
	}
}

func exitStatus(state *os.ProcessState) ExitStatus {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return ExitStatus{Code: -1, Signal: status.Signal().String()}
	}
	return ExitStatus{Code: state.ExitCode()}
}

var errClosing = errors.New("the supervisor is shutting down")
