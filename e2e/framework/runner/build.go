package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Build compiles the main package pkg, as seen from the directory dir, to the file binary, an absolute path. Extra build flags, such as
// -overlay, come last. The compiler's output is part of the error.
//
// Linking takes longer than everything else where little has changed, and `go build` links whenever there is no executable at its
// place. `go run` keeps executables in Go's build cache, so the same program is linked once, wherever it is needed. The file appears
// at once, because others may build or run it at the same time, and a file that is being written can't be run ("text file busy").
func Build(ctx context.Context, dir, pkg, binary string, flags ...string) (err error) {
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(binary), ".build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	built := filepath.Join(work, "built")
	if err := build(ctx, dir, pkg, append([]string{"run", "-exec=cp", "-ldflags=-s -w"}, flags...), built); err != nil {
		return err
	}
	return os.Rename(built, binary)
}

// BuildForDebugger does the same for a debugger. The module's own packages are not optimized, so that every line and variable is
// where the source has it; those of other modules only have debug information, which GOFLAGS may leave out.
func BuildForDebugger(ctx context.Context, dir, pkg, binary string) error {
	return build(ctx, dir, pkg, []string{"build", "-o", binary, "-gcflags=all=", "-gcflags=./...=-N -l"})
}

// build runs a Go command for a package. Without the commit in it, an executable changes only when the code does.
func build(ctx context.Context, dir, pkg string, command []string, args ...string) error {
	command = append(command, "-trimpath", "-buildvcs=false", pkg)
	if err := compile(ctx, dir, append(command, args...)...); err != nil {
		return fmt.Errorf("building %s in %s: %w", pkg, dir, err)
	}
	return nil
}

// CompileError is the error of code that does not compile.
type CompileError struct {
	// Output is what the Go command printed, without its progress.
	Output string

	err error
}

func (e *CompileError) Error() string { return fmt.Sprintf("%v\n%s", e.err, e.Output) }

// Unwrap returns the error of the Go command.
func (e *CompileError) Unwrap() error { return e.err }

// progress are the Go command's lines about modules that it downloads.
var progress = regexp.MustCompile(`(?m)^go: downloading .*\n?`)

// compile runs a Go command in a directory. Its error is a [CompileError] with what it printed.
func compile(ctx context.Context, dir string, args ...string) error {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // the same on machines with and without a C compiler
	if out, err := command.CombinedOutput(); err != nil {
		return &CompileError{Output: string(bytes.TrimSpace(progress.ReplaceAll(out, nil))), err: err}
	}
	return nil
}

// BuildSuite compiles the tests in a directory of the repository at root ("e2e/memcached"), and returns the test binary, which is kept as
// [KeepTests] does.
func BuildSuite(ctx context.Context, root, directory string) (string, error) {
	binary, err := keep(root, strings.ReplaceAll(directory, "/", "-")+".test", func(built string) error {
		return compile(ctx, root, "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", built, "./"+directory)
	})
	if err != nil {
		return "", fmt.Errorf("building the suite %s: %w", directory, err)
	}
	return binary, nil
}

// KeepTests is [BuildTests] for a package of the repository at root. The test binary is kept in the repository's directory bin under the name,
// and linked again only when something has changed. Concurrent calls, also in several processes, do not disturb each other or a binary
// that runs.
func KeepTests(ctx context.Context, root, name, pkg string, flags ...string) (string, error) {
	return keep(root, name, func(built string) error { return BuildTests(ctx, root, pkg, built, flags...) })
}

// keep builds an executable that is kept under a name, and returns its path.
func keep(root, name string, build func(built string) error) (_ string, err error) {
	kept, err := filepath.Abs(filepath.Join(root, "bin", "suites"))
	if err != nil {
		return "", err
	}
	// Not with MkdirAll, which reads their metadata: they would count as what the result of a suite depends on, and they change.
	for _, directory := range []string{filepath.Dir(kept), kept} {
		if err := os.Mkdir(directory, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	work, err := os.MkdirTemp(kept, ".build-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	binary, built := filepath.Join(kept, name), filepath.Join(work, "suite.test")
	// The last one, for the Go command to leave as it is if it is up to date. Else it writes another file in its place.
	_ = os.Link(binary, built)
	if err := build(built); err != nil {
		return "", err
	}
	return binary, os.Rename(built, binary)
}

// BuildTests compiles the tests of the package pkg, as seen from the directory dir, to the file binary, an absolute path. Extra build flags, such
// as -overlay, come last. The error is a [CompileError] if they do not compile.
func BuildTests(ctx context.Context, dir, pkg, binary string, flags ...string) error {
	args := append([]string{"test", "-c", "-vet=off", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary}, flags...)
	if err := compile(ctx, dir, append(args, pkg)...); err != nil {
		return fmt.Errorf("building the tests of %s in %s: %w", pkg, dir, err)
	}
	return nil
}
