// Package grading grades what students hand in: it compiles a submission, judges its manifests, runs the chapter's suite against it in a
// cell, and computes from the suite's report which features hold.
package grading

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/grade/build"
	"github.com/example/operator-testbed/tutorial/internal/grade/manifests"
)

// Assignment is what is graded.
type Assignment struct {
	// Root is the directory of the repository, Stage the chapter, and Lab the break-it lab, if it is one.
	Root, Stage, Lab string
	// Extra is a directory with a test package of the teacher's, or empty. Where it has a directory that is called like the chapter,
	// the package is in that one.
	Extra string
	// Work is a directory for what is made of it once. It must be there as long as anything is graded.
	Work string
}

// Chapter is what all submissions of an assignment have in common, compiled and rendered once.
type Chapter struct {
	Assignment

	// Solution is a directory with the chapter's own solution, laid out as a submission.
	Solution string

	suites    []suite
	claims    map[string]string // of the features, by name
	runs      bool              // there is a program to compile
	tested    *tested           // nil where no tests are to be written
	toolchain build.Toolchain
	allowed   manifests.Allowed
	assets    string   // the executables of clusters
	cache     string   // the testbed's
	sources   []string // what suites read: the chapter's operator and suite, and the testbed's stores
}

// suite is a test binary.
type suite struct {
	name      string // with which the names of its namespaces start
	binary    string
	directory string // in which it runs
	extra     bool
}

// Prepare compiles and renders what is the same for all submissions of an assignment.
func Prepare(ctx context.Context, a Assignment) (*Chapter, error) {
	root, err := filepath.Abs(a.Root)
	if err != nil {
		return nil, err
	}
	a.Root = root
	of, err := chapter.Read(filepath.Join(root, "tutorial", a.Stage))
	if err != nil {
		return nil, fmt.Errorf("there is no chapter %q to grade: %w", a.Stage, err)
	}
	c := &Chapter{Assignment: a, runs: !slices.Contains(of.Runs, chapter.RunsNone)}
	if c.Solution, c.allowed, err = permitted(ctx, a); err != nil {
		return nil, err
	}
	if c.toolchain, err = toolchain(ctx, root, c.Solution); err != nil {
		return nil, err
	}
	if of.Tests != "" {
		if c.tested, err = newTested(root, of); err != nil {
			return nil, err
		}
	}
	if c.assets, err = embedded.Assets(ctx, os.Stderr); err != nil {
		return nil, err
	}
	if c.cache, err = home.Cache(); err != nil {
		return nil, err
	}
	c.claims = map[string]string{}
	for name, feature := range of.Features {
		c.claims[name] = feature.Claim
	}
	directory := of.SuiteDirectory()
	binary, err := runner.BuildSuite(ctx, root, directory)
	if err != nil {
		return nil, err
	}
	// Not all of the repository: the directory of the class may be in it.
	for _, source := range []string{filepath.Join(root, of.OperatorDirectory()), filepath.Join(root, directory), filepath.Join(c.cache, "stores")} {
		if _, err := os.Stat(source); err == nil {
			c.sources = append(c.sources, source)
		}
	}
	c.suites = []suite{{name: suiteName(of), binary: binary, directory: filepath.Join(root, directory)}}
	if a.Extra != "" {
		extra, err := buildExtra(ctx, a, directory)
		if err != nil {
			return nil, err
		}
		extra.name = c.suites[0].name
		c.suites = append(c.suites, extra)
	}
	return c, nil
}

// suiteName is the name of the chapter's suite: the chapter's, except for the finished operator's.
func suiteName(c chapter.Chapter) string {
	if c.Suite != "" {
		return path.Base(c.Suite)
	}
	return c.Name
}

// toolchain returns what compiles submissions: this machine's Go, with the repository's requirements under the name of the module that
// a copy has.
func toolchain(ctx context.Context, root, copied string) (build.Toolchain, error) {
	command := exec.CommandContext(ctx, "go", "env", "-json", "GOROOT", "GOCACHE", "GOMODCACHE")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return build.Toolchain{}, fmt.Errorf("ask Go where its files are: %w", err)
	}
	var env struct{ GOROOT, GOCACHE, GOMODCACHE string }
	if err := json.Unmarshal(out, &env); err != nil {
		return build.Toolchain{}, err
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return build.Toolchain{}, err
	}
	required, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return build.Toolchain{}, err
	}
	own, err := os.ReadFile(filepath.Join(copied, "go.mod"))
	if err != nil {
		return build.Toolchain{}, err
	}
	if err := required.AddModuleStmt(modfile.ModulePath(own)); err != nil {
		return build.Toolchain{}, err
	}
	mod, err := required.Format()
	if err != nil {
		return build.Toolchain{}, err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	return build.Toolchain{Root: env.GOROOT, Cache: env.GOCACHE, Modules: env.GOMODCACHE, Mod: mod, Sum: sum}, err
}

// buildExtra compiles the teacher's package as if it were next to the chapter's suite, so that paths to config are the same in both.
func buildExtra(ctx context.Context, a Assignment, directory string) (suite, error) {
	from := filepath.Join(a.Extra, a.Stage)
	if _, err := os.Stat(from); err != nil {
		from = a.Extra
	}
	from, err := filepath.Abs(from)
	if err != nil {
		return suite{}, err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return suite{}, err
	}
	if !slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") }) {
		return suite{}, fmt.Errorf("there are no tests in %s: name the directory of a package with *_test.go files", from)
	}
	// A directory that is not there, which the Go command sees all the same.
	beside := path.Join(path.Dir(directory), "extra")
	replace := map[string]string{}
	for _, file := range files {
		replace[filepath.Join(a.Root, beside, filepath.Base(file))] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return suite{}, err
	}
	list, binary := filepath.Join(a.Work, "overlay.json"), filepath.Join(a.Work, "extra.test")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return suite{}, err
	}
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-overlay="+list,
		"-o", binary, "./"+beside)
	command.Dir, command.Env = a.Root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return suite{}, fmt.Errorf("compile the tests in %s: %w\n%s", from, err, bytes.TrimSpace(out))
	}
	return suite{binary: binary, directory: filepath.Join(a.Root, directory), extra: true}, nil
}
