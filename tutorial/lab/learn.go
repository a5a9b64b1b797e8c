package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/learn"
	"github.com/example/operator-testbed/tutorial/internal/learn/panel"
	"github.com/example/operator-testbed/tutorial/internal/progress"
)

// learnInput is what the command learn is called with.
type learnInput struct {
	stage, dir    string
	cluster, name string
	site, copies  string
	port          string
}

// newLearn returns the command that serves the tutorial with the learner's cluster beside the text.
func newLearn(records *recorder, name, stage, dir *string) *cobra.Command {
	var in learnInput
	command := &cobra.Command{
		Use: "learn", Short: "Show the tutorial in a browser, with the cluster beside the text", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			in.stage, in.dir, in.name = *stage, *dir, *name
			return records.learn(command.Context(), in, os.Stdout)
		},
	}
	flags := command.Flags()
	flags.StringVar(&in.cluster, "cluster", embedded.Kind, strings.Join(learn.Kinds, " or "))
	flags.StringVar(&in.site, "site", filepath.Join("bin", "site"), "the directory of the built site")
	flags.StringVar(&in.copies, "copies", ".", "the directory for a copy with a fault")
	flags.StringVar(&in.port, "port", "", "the port; a free one if empty")
	return command
}

// learn serves the pages until ctx ends.
func (r recorder) learn(ctx context.Context, in learnInput, out io.Writer) error {
	if !slices.Contains(learn.Kinds, in.cluster) {
		return fmt.Errorf("the page can't show CLUSTER=%s: use one of %s", in.cluster, strings.Join(learn.Kinds, ", "))
	}
	port, err := strconv.Atoi(cmp.Or(in.port, "0"))
	if err != nil || port < 0 || port > 65535 {
		return fmt.Errorf("PORT=%s is not a port: give one such as 8091, or none", in.port)
	}
	if err := r.copyFor(ctx, in, out); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := journal()
	if err != nil {
		return err
	}
	return learn.Serve(ctx, learn.Options{
		Learner: learn.Learner{
			Root: r.root, Chapter: in.stage, Dir: in.dir, Copies: in.copies, ClusterKind: in.cluster, ClusterName: in.name,
			Testbed: commandLine{self, r.root}.run, Check: r.runCheck, Hint: r.giveHint, Reset: r.reset,
			Progress: func() (progress.Progress, error) { return progressOf(r.root) }, ProgressDir: filepath.Dir(file),
		},
		Site: in.site, Panel: panel.Files, Port: port, Home: in.stage+in.dir == "", Open: learn.Printer(out),
	})
}

// copyFor makes the copy that the learner names, if it is not there yet.
func (r recorder) copyFor(ctx context.Context, in learnInput, out io.Writer) error {
	if in.dir == "" {
		return nil
	}
	_, err := os.Stat(in.dir)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case in.stage == "":
		return fmt.Errorf("there is no directory %s: name the chapter as well, STAGE=NN-name, to make a copy of what it starts with", in.dir)
	}
	if err := exercises.Start(ctx, r.root, in.stage, in.dir, out); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out)
	return err
}

// giveHint gives a hint about the copy in dir or, without one, a chapter, and records it.
func (r recorder) giveHint(dir, stage string, exercise int, out io.Writer) error {
	if dir != "" {
		return r.runHint(dir, 0, exercise, out)
	}
	err := exercises.HintAbout(r.root, stage, filepath.Join(r.root, "bin", "hints"), exercise, out)
	if err == nil {
		r.hinted(stage)
	}
	return err
}

// reset starts over with the copy in dir, and records it.
func (r recorder) reset(ctx context.Context, dir string, out io.Writer) error {
	err := exercises.Reset(ctx, r.root, dir, out)
	if err == nil {
		r.record(dir, event.Event{Kind: event.Reset})
	}
	return err
}

// commandLine is the testbed's executable, and where it runs.
type commandLine struct{ path, dir string }

// toEnd is how long it may take to put things in order after the signal to stop.
const toEnd = time.Minute

// run runs a command of the testbed's until it exits. If ctx ends first, the command gets a signal to stop, and is waited for. Ctrl-C in a terminal does
// not reach it: a second signal would end it at once. If this process is killed, the command stops too.
func (c commandLine) run(ctx context.Context, out, messages io.Writer, args ...string) error {
	command := exec.CommandContext(ctx, c.path, append([]string{"--until-eof"}, args...)...)
	command.Dir, command.Stdout, command.Stderr = c.dir, out, messages
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = toEnd
	// Nothing is ever written to it: it ends when the command does, or this process.
	if _, err := command.StdinPipe(); err != nil {
		return err
	}
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(c.path), strings.Join(args, " "), err)
	}
	return nil
}
