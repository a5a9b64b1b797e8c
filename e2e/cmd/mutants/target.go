package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant"
)

// target is an operator that is broken, and the suite that must notice it.
type target struct {
	operator, directory string // relative to root, with slashes
	root                string
	mutants             []mutant.Mutant
	content             string // a hash of the operator, the suite and the testbed

	passed bool            // the healthy operator, the same tests
	killed []mutant.Mutant // in this run
}

// newTarget reads OPERATOR=SUITE, and the mutants whose names match.
func newTarget(root, pair string, permissions bool, names *regexp.Regexp) (*target, error) {
	operator, directory, ok := strings.Cut(pair, "=")
	if !ok || operator == "" || directory == "" {
		return nil, fmt.Errorf("%q is not OPERATOR=SUITE: name two directories, such as operator=e2e/memcached", pair)
	}
	t := &target{operator: path.Clean(filepath.ToSlash(operator)), directory: path.Clean(filepath.ToSlash(directory)), root: root}
	var err error
	if permissions {
		t.mutants, err = mutant.WithoutEachRight(root, directory)
	} else {
		t.mutants, err = mutant.Read(filepath.Join(root, directory, "mutants"))
	}
	t.mutants = slices.DeleteFunc(t.mutants, func(m mutant.Mutant) bool { return !names.MatchString(m.Name) })
	return t, err
}

// build builds the suite.
func (t *target) build(ctx context.Context) (suite mutant.Suite, err error) {
	suite = mutant.Suite{
		Root: t.root, Directory: filepath.Join(t.root, t.directory),
		Config: path.Join(t.operator, "config"),
		Env:    []string{"CLUSTER=embedded"},
	}
	if _, err := os.Stat(filepath.Join(t.root, t.operator, "cmd")); err == nil {
		suite.Package = "./" + path.Join(t.operator, "cmd")
	}
	suite.Binary, err = runner.BuildSuite(ctx, t.root, t.directory)
	return suite, err
}

// nameOf is the name of one of the target's mutants among all mutants.
func (t *target) nameOf(m mutant.Mutant) string { return path.Base(t.operator) + "/" + m.Name }

// judges is a pattern of all tests that must catch a mutant.
func (t *target) judges() string {
	var names []string
	for _, m := range t.mutants {
		if m.Test != "" {
			names = append(names, m.Test)
		}
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}
