package mutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/example/operator-testbed/e2e/runner"
)

// Suite is a suite that mutants are tried on.
type Suite struct {
	// Root is the repository.
	Root string
	// Folder is the suite's folder and Binary its test binary, built from there with `go test -c`.
	Folder, Binary string
	// Package is the operator's main package, relative to Root ("./operator/cmd"). Empty means that there is nothing to run.
	Package string
	// Config is the folder of the operator's manifests, relative to Root ("operator/config").
	Config string
	// Env is what the suite's environment needs beyond the caller's, such as CLUSTER=embedded.
	Env []string
}

// Trial is a mutant that has been built, to be run on its suite. Close it.
type Trial struct {
	Mutant Mutant

	suite Suite
	work  string
	env   []string
	built time.Duration
}

// Result is how the suite took one mutant.
type Result struct {
	// Wrong is what Judge found, or "".
	Wrong string
	// Output is what the suite printed.
	Output string
	// Took is how long it took, the build included.
	Took time.Duration
}

// Prepare breaks the operator and builds it. The error says that the patch no longer fits or does not compile.
func (s Suite) Prepare(ctx context.Context, m Mutant) (_ *Trial, err error) {
	begin := time.Now()
	work, err := os.MkdirTemp("", "mutant-"+m.Name+"-")
	if err != nil {
		return nil, err
	}
	t := &Trial{Mutant: m, suite: s, work: work}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	broken, err := m.Apply(ctx, s.Root, s.Config, work)
	if err != nil {
		return nil, err
	}
	t.env = []string{"TESTBED_ARTIFACTS=" + filepath.Join(work, "artifacts"), "TESTBED_FAILURES="}
	if s.Package != "" {
		operator := filepath.Join(work, "operator")
		if err := runner.Build(ctx, s.Root, s.Package, operator, "-overlay="+broken.Overlay); err != nil {
			return nil, fmt.Errorf("%s does not compile: %w", m.Name, err)
		}
		t.env = append(t.env, "OPERATOR="+operator)
	}
	if broken.Manifests != "" {
		t.env = append(t.env, "MANIFESTS="+broken.Manifests)
	}
	t.env = append(t.env, m.Env...)
	t.built = time.Since(begin)
	return t, nil
}

// Run runs the one test that must notice, and judges what it says. The error is about the trial; a mutant that survives is a
// result. A trial may be run again, and each time be given other variables.
func (t *Trial) Run(ctx context.Context, env ...string) (Result, error) {
	begin := time.Now()
	passed, output, err := t.suite.Run(ctx, t.Mutant.pattern(), slices.Concat(t.env, env)...)
	if err != nil {
		return Result{}, err
	}
	return Result{Wrong: t.Mutant.Judge(passed, output), Output: output, Took: t.built + time.Since(begin)}, nil
}

// Close removes what Prepare made.
func (t *Trial) Close() error { return os.RemoveAll(t.work) }

// Run runs the suite's tests that match the pattern, and returns whether they passed and what they printed.
func (s Suite) Run(ctx context.Context, pattern string, env ...string) (passed bool, output string, err error) {
	var out bytes.Buffer
	run := exec.CommandContext(ctx, s.Binary, "-test.run="+pattern, "-test.v", "-test.timeout=5m")
	run.Dir = s.Folder
	run.Env = append(append(os.Environ(), s.Env...), env...)
	run.Stdout, run.Stderr = &out, &out
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	err = run.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return false, out.String(), nil
	}
	return err == nil, out.String(), err
}
