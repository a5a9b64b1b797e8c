package mutant

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Suite is a suite that mutants are tried on.
type Suite struct {
	// Root is the repository.
	Root string
	// Directory is the suite's directory and Binary its test binary, built from there with `go test -c`.
	Directory, Binary string
	// Package is the operator's main package, relative to Root ("./operator/cmd"). Empty means that there is nothing to run.
	Package string
	// Config is the directory of the operator's manifests, relative to Root ("operator/config").
	Config string
	// Env is what the suite's environment needs beyond the caller's, such as CLUSTER=embedded.
	Env []string
}

// Trial is a mutant that is ready to be run on its suite. Close it.
type Trial struct {
	Mutant Mutant
	// Err says that the patch no longer fits the code, or that what comes of it does not compile.
	Err error
	// Alone says why the mutant has an executable of its own; nil where it shares one, or changes no code.
	Alone error

	suite  Suite
	work   string
	broken Broken
	env    []string
}

// Result is how the suite took one mutant.
type Result struct {
	// Wrong is what Judge found, or "".
	Wrong string
	// Output is what the suite printed.
	Output string
	// Took is how long it took.
	Took time.Duration
}

// build compiles the operator of a mutant that has an executable of its own.
func (t *Trial) build(ctx context.Context) error {
	operator := filepath.Join(t.work, "operator")
	t.env = append(t.env, "OPERATOR="+operator)
	return runner.Build(ctx, t.suite.Root, t.suite.Package, operator, "-overlay="+t.broken.Overlay)
}

// Run runs the one test that must notice, with more variables, and judges what it says. The error is about the trial; a mutant that
// survives is a result.
func (t *Trial) Run(ctx context.Context, env ...string) (Result, error) {
	begin := time.Now()
	passed, output, err := t.suite.Run(ctx, t.Mutant.pattern(), slices.Concat(t.env, t.Mutant.Env, env)...)
	return Result{Wrong: t.Mutant.Judge(passed, output), Output: output, Took: time.Since(begin)}, err
}

// Close removes what was made for this mutant.
func (t *Trial) Close() error { return os.RemoveAll(t.work) }

// Run runs the suite's tests that match the pattern, and returns whether they passed and what they printed.
func (s Suite) Run(ctx context.Context, pattern string, env ...string) (passed bool, output string, err error) {
	var out bytes.Buffer
	// No limit on the time: a busy machine may take minutes, and each of the suite's assertions gives up when it has waited long enough.
	run := exec.CommandContext(ctx, s.Binary, "-test.run="+pattern, "-test.v", "-test.timeout=0")
	run.Dir = s.Directory
	// The operators were compiled from this tree, and a variable of the environment says which of them to be.
	run.Env = slices.Concat(os.Environ(), []string{"TESTBED_CONFINE=no"}, s.Env, env)
	run.Stdout, run.Stderr = &out, &out
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	err = run.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return false, out.String(), nil
	}
	return err == nil, out.String(), err
}
