package mutant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Result is how the suite took one mutant.
type Result struct {
	Mutant Mutant
	// Wrong is what Judge found, or "".
	Wrong string
	// Output is what the suite printed.
	Output string
	// Took is how long it took, the build included.
	Took time.Duration
}

// Try breaks the operator, runs the one test that must notice and judges what it says. The error is about the trial; a mutant
// that survives is a result.
func (s Suite) Try(ctx context.Context, m Mutant) (Result, error) {
	begin := time.Now()
	work, err := os.MkdirTemp("", "mutant-"+m.Name+"-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(work)
	broken, err := m.Apply(ctx, s.Root, s.Config, work)
	if err != nil {
		return Result{}, err
	}
	env := []string{"TESTBED_ARTIFACTS=" + filepath.Join(work, "artifacts"), "TESTBED_FAILURES="}
	if s.Package != "" {
		operator := filepath.Join(work, "operator")
		if err := runner.Build(ctx, s.Root, s.Package, operator, "-overlay="+broken.Overlay); err != nil {
			return Result{}, fmt.Errorf("%s does not compile: %w", m.Name, err)
		}
		env = append(env, "OPERATOR="+operator)
	}
	if broken.Manifests != "" {
		env = append(env, "MANIFESTS="+broken.Manifests)
	}
	passed, output, err := s.Run(ctx, m.pattern(), append(env, m.Env...)...)
	if err != nil {
		return Result{}, err
	}
	return Result{Mutant: m, Wrong: m.Judge(passed, output), Output: output, Took: time.Since(begin)}, nil
}

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
