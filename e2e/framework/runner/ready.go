package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/runner/probe"
	"github.com/example/operator-testbed/e2e/internal/logline"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// portTries is how often a replica gets other ports when somebody has taken one of them before it could listen there.
const portTries = 5

// errPortTaken is what ready returns when the process has ended because somebody else listens on one of its ports.
var errPortTaken = errors.New("a port was taken meanwhile")

// errNoHealthFlag is what ready returns when the process has ended because it has no flag for the address of its probes.
var errNoHealthFlag = errors.New("it has no flag for the address of its probes")

// unknownHealthFlag matches what Go's package flag and pflag say of that flag.
var unknownHealthFlag = regexp.MustCompile(`(?m)(flag provided but not defined: --?|unknown flag: --)` + healthFlag + `$`)

// aliveTime is how long a process without probes has to run until it is taken for ready. A kubelet does not wait at all, but a process that
// refuses its arguments exits in less.
const aliveTime = time.Second

// ready waits until the readiness probe succeeds or the process has ended.
func (r *Replica) ready(ctx context.Context) error {
	timeout := readyTimeout
	if r.operator.InPods() {
		timeout += deployTimeout // which ends the process before that
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no success within %s", timeout))
	defer cancel()
	alive, exited := context.WithCancel(ctx)
	go func() {
		defer exited()
		_, _ = r.supervisor().Wait(ctx, r.name) // the process has exited or ctx is done: see below
	}()
	started := time.Now()
	for range watch.Poll(alive, askAgain) {
		if r.operator.unprobed.Load() {
			if time.Since(started) >= aliveTime {
				return nil
			}
		} else if probe.Ready(ctx, r.at.health) == nil {
			return nil
		}
	}
	err := &notReadyError{words: r.lastWords(), log: r.LogFile()}
	switch {
	case ctx.Err() != nil:
		err.reason, err.cause = fmt.Sprintf("the operator's process %q is not ready: %v", r.name, context.Cause(ctx)), context.Cause(ctx)
	case strings.Contains(err.words, "address already in use"):
		err.reason, err.cause = fmt.Sprintf("%v: the operator's process %q exited before it was ready", errPortTaken, r.name), errPortTaken
	case unknownHealthFlag.MatchString(r.output()):
		err.reason, err.cause = fmt.Sprintf("the operator's process %q exited before it was ready", r.name), errNoHealthFlag
	default:
		err.reason = fmt.Sprintf("the operator's process %q exited before it was ready", r.name)
	}
	return err
}

// notReadyError is the error of a process that has not become ready.
type notReadyError struct {
	reason string
	cause  error  // may be nil
	words  string // of the log
	log    string // the log's path
}

func (e *notReadyError) Error() string {
	return fmt.Sprintf("%s: %s (log: %s)", e.reason, e.words, e.log)
}

func (e *notReadyError) Unwrap() error { return e.cause }

// keepLog copies the log of a process that has not become ready to a directory that [Options.Evidence] makes. err is why Start fails.
// It names the copy from then on.
func (o Options) keepLog(err error) error {
	notReady := new(notReadyError)
	if o.Evidence == nil || !errors.As(err, &notReady) {
		return err
	}
	kept, keepErr := copyInto(o.Evidence, notReady.log)
	if keepErr != nil {
		return errors.Join(err, fmt.Errorf("keep the operator's log: %w", keepErr))
	}
	notReady.log = kept
	return err
}

// copyInto copies a file to a directory that it makes, and returns the path of the copy.
func copyInto(makeDirectory func() (string, error), path string) (string, error) {
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	directory, err := makeDirectory()
	if err != nil {
		return "", err
	}
	to, err := os.Create(filepath.Join(directory, filepath.Base(path)))
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return to.Name(), errors.Join(err, to.Close())
}

// Ready returns nil if a replica is ready, or else why none of them is.
func (o *Operator) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probe.Timeout, fmt.Errorf("no answer within %s", probe.Timeout))
	defer cancel()
	if o.unprobed.Load() {
		return o.running(ctx)
	}
	reasons := make([]error, len(o.replicas))
	var probes sync.WaitGroup
	for i, r := range o.replicas {
		probes.Go(func() {
			if err := probe.Ready(ctx, r.at.health); err != nil {
				reasons[i] = fmt.Errorf("%s: %w", r.name, err)
			}
		})
	}
	probes.Wait()
	if slices.Contains(reasons, nil) {
		return nil
	}
	return errors.Join(reasons...)
}

// running returns nil if the process of a replica runs.
func (o *Operator) running(ctx context.Context) error {
	var names []string
	for _, r := range o.replicas {
		process, found, err := o.options.Supervisor.Find(ctx, r.name)
		if err != nil {
			return err
		}
		if found && process.State == supervisor.Running {
			return nil
		}
		names = append(names, r.name)
	}
	return fmt.Errorf("not running: %s", strings.Join(names, ", "))
}

// mostRead is how much is read of the end of a log, and longestLine how much is shown of a line, in bytes. An operator that is not the
// caller's own can print as much as it likes.
const mostRead, longestLine = 1 << 20, 2000

// lastWords returns the line of the log of this run of the operator that says why it is not ready.
func (r *Replica) lastWords() string {
	content, err := readFrom(r.LogFile(), int64(r.earlier))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	line := logline.Cause(content)
	if len(line) > longestLine {
		line = strings.ToValidUTF8(line[:longestLine], "") + "…"
	}
	return cmp.Or(line, "it printed nothing")
}

// output returns what this run of the operator has printed, or its end.
func (r *Replica) output() string {
	content, _ := readFrom(r.LogFile(), int64(r.earlier))
	return string(content)
}

// readFrom reads a file from an offset on, if there is not more than mostRead, and otherwise its end.
func readFrom(path string, offset int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	offset = max(min(offset, size), size-mostRead)
	return io.ReadAll(io.NewSectionReader(file, offset, mostRead))
}
