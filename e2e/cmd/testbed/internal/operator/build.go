package operator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Program is the operator of a clone, ready to run.
type Program struct {
	// Binary is the executable.
	Binary string
	// Manifests install it: what its config/local renders to, or else its config/default.
	Manifests manifest.Set
}

// Finished is the directory of the clone's own operator.
const Finished = "operator"

// Title names the operator in a directory for people, so that nobody takes the clone's own for a copy.
func Title(directory string) string {
	if directory == Finished {
		return "the finished operator (" + Finished + "/)"
	}
	return "the operator of " + directory
}

// Build compiles the operator in a directory, which is laid out as kubebuilder does, and renders
// its manifests. The directory is one of the clone at root, or a module of its own, such as a
// learner's copy.
func Build(ctx context.Context, root, directory string) (Program, error) {
	return build(ctx, root, directory, "", func(dir, pkg, binary string) error { return runner.Build(ctx, dir, pkg, binary) })
}

// BuildForDebugger does the same for a debugger.
func BuildForDebugger(ctx context.Context, root, directory string) (Program, error) {
	return build(ctx, root, directory, "-debug", func(dir, pkg, binary string) error { return runner.BuildForDebugger(ctx, dir, pkg, binary) })
}

// build compiles with a function, to an executable whose name ends with the suffix.
func build(ctx context.Context, root, directory, suffix string, compile func(dir, pkg, binary string) error) (Program, error) {
	at := directory
	if !filepath.IsAbs(at) {
		at = filepath.Join(root, directory)
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return Program{}, fmt.Errorf("there is no directory %s: give the directory of an operator, such as a copy from make start", directory)
	}
	if _, err := os.Stat(filepath.Join(at, "cmd")); err != nil {
		return Program{}, fmt.Errorf("there is no operator to run in %s: it has no directory cmd", directory)
	}
	manifests, err := manifest.Render(manifest.Local(filepath.Join(at, "config", "default")))
	if err != nil {
		return Program{}, err
	}
	name, dir, main := filepath.Base(at), root, "./"+filepath.ToSlash(directory)+"/cmd"
	if directory == Finished {
		name = "memcached-operator"
	}
	if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
		name, dir, main = "copy-"+name, at, "./cmd"
	}
	binary := filepath.Join(root, "bin", name+suffix)
	if err := compile(dir, main, binary); err != nil {
		if ctx.Err() != nil {
			return Program{}, context.Cause(ctx)
		}
		return Program{}, err
	}
	return Program{Binary: binary, Manifests: manifests}, nil
}

// digest returns a hash of an executable.
func digest(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}
