package isolation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Run runs a command in a cell, and returns when nothing is left of it. The error is about the cell; that the command fails or exceeds
// a limit is in the usage. When the context ends, so does the cell.
func (w Walls) Run(ctx context.Context, c Command) (Usage, error) {
	usage, err := w.run(ctx, c)
	if err != nil {
		return usage, fmt.Errorf("run %s in a cell (%s): %w", filepath.Base(strings.Join(c.Args[:min(1, len(c.Args))], "")), w.outer, err)
	}
	return usage, nil
}

func (w Walls) run(ctx context.Context, c Command) (Usage, error) {
	if len(c.Args) == 0 || !filepath.IsAbs(c.Args[0]) {
		return Usage{}, errors.New("the command has to be an absolute path")
	}
	for _, path := range slices.Concat([]string{c.Dir}, c.Readable, c.Writable, c.Scratch) {
		if path != "" && !filepath.IsAbs(path) {
			return Usage{}, fmt.Errorf("%s has to be an absolute path", path)
		}
	}
	var said strings.Builder // of the cell itself, where it fails
	stdout, stderr := newTail(c.Stdout, c.Limits.Output), newTail(c.Stderr, c.Limits.Output)
	last := newTail(&said, 2*longestReason)
	defer func() { _ = last.Close() }()
	c.Stdout, c.Stderr = stdout, both{stderr, last}
	report := &refusing{to: c.Report}
	if c.Report != nil {
		c.Stdout, c.Report = report, report // see specification
	}

	cell, err := w.start(ctx, c)
	if err != nil {
		return Usage{}, err
	}
	usage, err := watch(ctx, cell, c.Limits)
	err = errors.Join(err, stdout.Close(), stderr.Close(), last.Close(), report.err)
	if reason, failed := strings.CutPrefix(lastLine(said.String()), failure); failed && usage.Exit == exitFailure {
		if reason == errOutOfMemory.Error() {
			usage.Exit, usage.Exceeded = signaled+int(syscall.SIGKILL), cmp.Or(usage.Exceeded, ExceededMemory)
		} else {
			err = errors.Join(errors.New(reason), err)
		}
	}
	if err == nil && ctx.Err() != nil && usage.Exceeded == "" {
		err = context.Cause(ctx)
	}
	return usage, err
}

// both writes to two tails.
type both [2]*tail

// Write takes everything.
func (b both) Write(p []byte) (int, error) {
	_, _ = b[0].Write(p)
	return b[1].Write(p)
}

// refusing passes on what is written to it, and keeps the first error: that a process exits because nobody reads what it writes would
// hide why.
type refusing struct {
	to  io.Writer
	err error
}

// Write writes to what is behind it, unless that has failed before.
func (r *refusing) Write(p []byte) (n int, err error) {
	if r.err == nil {
		n, r.err = r.to.Write(p)
	}
	return n, r.err
}

// How a cell reports that it could not be built, or that the kernel has ended what ran in it: with an exit code, and a line at the end
// of stderr.
const (
	exitFailure   = 125 // as Docker's
	failure       = "isolation: "
	longestReason = 2000
)

// errOutOfMemory is what a cell reports that the kernel has stopped at its limit, between two looks at what it uses.
var errOutOfMemory = errors.New("its memory is used up")

// cell is one that runs.
type cell interface {
	// root returns the id of the process that all others of the cell come from, or 0 while it is unknown.
	root() int
	// end ends all processes of the cell. It may be called more than once.
	end()
	// wait returns when nothing is left of the cell: the exit code of the command, and the processor time if it is known.
	wait() (exit int, cpu time.Duration, err error)
}

// signaled and the number of the signal are the exit code of a command that a signal has ended, as in shells.
const signaled = 128

// outcome returns what wait does for a process that has ended, given what waiting for it returned.
func outcome(state *os.ProcessState, err error) (exit int, cpu time.Duration, _ error) {
	if exited := new(exec.ExitError); errors.As(err, &exited) {
		err = nil
	}
	cpu = state.UserTime() + state.SystemTime()
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return signaled + int(status.Signal()), cpu, err
	}
	return state.ExitCode(), cpu, err
}

// interval is how often what a cell uses is measured. What it can take in between is limited by the kernel: see limitSelf.
const interval = 100 * time.Millisecond

// watch waits for the end of a cell, and ends it when it exceeds a limit or the context ends.
func watch(ctx context.Context, c cell, limits Limits) (Usage, error) {
	var usage Usage
	ended := make(chan error, 1)
	var cpu time.Duration
	go func() {
		var err error
		usage.Exit, cpu, err = c.wait()
		ended <- err
	}()
	began := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var seen consumption
	var exceeded string
	done := ctx.Done()
	for {
		select {
		case err := <-ended:
			usage.CPU, usage.Memory, usage.Exceeded = max(cpu, seen.cpu), seen.memory, exceeded
			return usage, err
		case <-done:
			c.end()
			done = nil
		case <-ticker.C:
			now := consumptionOf(c.root())
			seen.cpu, seen.memory = max(seen.cpu, now.cpu), max(seen.memory, now.memory)
			if exceeded == "" {
				exceeded = limits.exceeded(time.Since(began), now)
			}
			if exceeded != "" {
				c.end()
			}
		}
	}
}

// consumption is what the processes of a cell use at one time.
type consumption struct {
	cpu    time.Duration
	memory int64
	tasks  int
}

// exceeded returns the limit that is exceeded, or "".
func (l Limits) exceeded(elapsed time.Duration, now consumption) string {
	switch {
	case l.Time > 0 && elapsed > l.Time:
		return ExceededTime
	case l.CPU > 0 && now.cpu > l.CPU:
		return ExceededCPU
	case l.Memory > 0 && now.memory > l.Memory:
		return ExceededMemory
	case l.Processes > 0 && now.tasks > l.Processes:
		return ExceededProcesses
	}
	return ""
}

// specification is what the init process of a cell reads on its stdin. What follows it there is the lifeline: when it is closed, the
// cell ends.
type specification struct {
	// Kind is the outer wall. Only in namespaces does the init process build the cell; elsewhere it was built around it.
	Kind   string
	Mounts []mount
	Args   []string
	Dir    string
	Env    []string
	Limits Limits
	// Report gives the command a pipe as its [ReportDescriptor]. The init process passes on to its own stdout what comes out of it, and
	// lets the command print to stderr: a container has no other way out.
	Report bool
}

// mount is a file or directory that the cell has. Without a source, it is a directory in memory.
type mount struct {
	Source, Target string
	Writable       bool
}

// mostScratchFiles is how many files and directories there can be in one of [Command.Scratch]. A cluster has some hundreds.
const mostScratchFiles = 50_000

// system is what programs and libraries a cell has, and the few files of /etc that they need. What does not exist is left out.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc/alternatives", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/passwd", "/etc/pki/tls/certs", "/etc/protocols", "/etc/services", "/etc/ssl/certs",
}

// mounts returns what a cell has, each after the directories that it is in.
func mounts(c Command, self string) ([]mount, error) {
	var all []mount
	has := map[string]int{}
	add := func(path string, write bool) error {
		// A link that leads out of the cell would lead nowhere in it.
		source, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		target := filepath.Clean(path)
		if i, there := has[target]; there {
			all[i].Writable = all[i].Writable || write
			return nil
		}
		has[target] = len(all)
		all = append(all, mount{Source: source, Target: target, Writable: write})
		return nil
	}
	for _, path := range system {
		if err := add(path, false); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	for _, path := range append([]string{self}, c.Readable...) {
		if err := add(path, false); err != nil {
			return nil, err
		}
	}
	for _, path := range c.Writable {
		if err := add(path, true); err != nil {
			return nil, err
		}
	}
	for _, path := range c.Scratch {
		all = append(all, mount{Target: filepath.Clean(path), Writable: true})
	}
	slices.SortStableFunc(all, func(a, b mount) int { return cmp.Compare(a.Target, b.Target) })
	return all, nil
}
