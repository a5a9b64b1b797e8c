package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles the main package pkg, as seen from the directory dir, to the file binary. Extra build flags, such as -overlay,
// come last. The compiler's output is part of the error.
func Build(ctx context.Context, dir, pkg, binary string, flags ...string) error {
	// Without the commit in it, the executable changes only when the code does.
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary}, flags...)
	if err := compile(ctx, dir, append(args, pkg)...); err != nil {
		return fmt.Errorf("building %s in %s: %w", pkg, dir, err)
	}
	return nil
}

// compile runs a Go command in a directory. The compiler's output is part of the error.
func compile(ctx context.Context, dir string, args ...string) error {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // the same on machines with and without a C compiler
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// BuildSuite compiles the tests in a directory of the repository at root ("e2e/memcached"), and returns the test binary. It is
// kept in the repository's directory bin and linked again only when something has changed. Concurrent calls, also in several
// processes, do not disturb each other or a suite that runs.
func BuildSuite(ctx context.Context, root, directory string) (_ string, err error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("building the suite %s: %w", directory, err) }
	kept, err := filepath.Abs(filepath.Join(root, "bin", "suites"))
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return fail(err)
	}
	work, err := os.MkdirTemp(kept, ".build-")
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	binary, built := filepath.Join(kept, strings.ReplaceAll(directory, "/", "-")+".test"), filepath.Join(work, "suite.test")
	// The last one, for the Go command to leave as it is if it is up to date. Else it writes another file in its place.
	_ = os.Link(binary, built)
	if err := compile(ctx, root, "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", built, "./"+directory); err != nil {
		return fail(err)
	}
	if err := os.Rename(built, binary); err != nil {
		return fail(err)
	}
	return binary, nil
}
