package mutant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant/schemata"
)

// errAskedFor is why a mutant that could share an executable has one of its own.
var errAskedFor = errors.New("it was asked for")

// Prepare breaks the operator in each of the ways and compiles it, into the directory work. One executable is the healthy operator and
// all mutants that fit into it (see package schemata); with alone, each that changes code gets one of its own, which is compiled
// when its turn comes. Operator is the healthy one; empty where there is nothing to run.
func (s Suite) Prepare(ctx context.Context, mutants []Mutant, work string, alone bool) (operator string, trials iter.Seq[*Trial], err error) {
	var all []*Trial
	for _, m := range mutants {
		t := &Trial{Mutant: m, suite: s, work: filepath.Join(work, m.Name)}
		t.env = []string{"TESTBED_ARTIFACTS=" + filepath.Join(t.work, "artifacts"), "TESTBED_FAILURES="}
		if t.broken, t.Err = m.Apply(ctx, s.Root, s.Config, t.work); t.broken.Manifests != "" {
			t.env = append(t.env, "MANIFESTS="+t.broken.Manifests)
		}
		if slices.ContainsFunc(m.Files, isTest) {
			t.env = append(t.env, overlayVariable+"="+t.broken.Overlay)
		}
		if alone && m.breaksCode() {
			t.Alone = errAskedFor
		}
		all = append(all, t)
	}
	if s.Package != "" {
		if operator, err = s.compile(ctx, all, work); err != nil {
			return "", nil, err
		}
	}
	return operator, func(yield func(*Trial) bool) {
		for _, t := range all {
			if t.Err == nil && t.Alone != nil {
				t.Err = t.build(ctx)
			}
			if !yield(t) {
				return
			}
		}
	}, nil
}

// compile compiles the executable that is shared, and notes of each other mutant why it can't share it.
func (s Suite) compile(ctx context.Context, trials []*Trial, work string) (string, error) {
	operator := filepath.Join(work, "operator")
	versions := map[string][]schemata.Version{} // by file
	var sharing []*Trial
	for _, t := range trials {
		if t.Err != nil || t.Alone != nil {
			continue
		}
		if t.Alone = t.fit(versions); t.Alone == nil {
			sharing = append(sharing, t)
		}
	}
	overlay, err := s.combine(versions, filepath.Join(work, "shared"))
	if err == nil {
		err = runner.Build(ctx, s.Root, s.Package, operator, "-overlay="+overlay)
	}
	if err != nil {
		// Compiled on its own, the one that does not compile will say so.
		for _, t := range sharing {
			if t.Mutant.breaksCode() {
				t.Alone = fmt.Errorf("the mutants do not compile together: %w", err)
			}
		}
		err = runner.Build(ctx, s.Root, s.Package, operator)
	}
	for _, t := range sharing {
		if t.Alone == nil {
			t.env = append(t.env, "OPERATOR="+operator, schemata.Variable+"="+t.Mutant.Name)
		}
	}
	return operator, err
}

// overlayVariable is the environment variable that names an overlay of the Go command to a suite that compiles tests of the operator's own.
const overlayVariable = "TESTBED_OVERLAY"

// breaksCode reports whether the mutant changes what the operator is compiled from.
func (m Mutant) breaksCode() bool { return slices.ContainsFunc(m.Files, isProgram) }

func isCode(file string) bool { return strings.HasSuffix(file, ".go") }

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// isProgram reports whether the file is compiled into the operator.
func isProgram(file string) bool { return isCode(file) && !isTest(file) }

// fit adds the mutant's versions of files, or returns why it can't share an executable.
func (t *Trial) fit(versions map[string][]schemata.Version) error {
	own := map[string]schemata.Version{}
	for _, file := range t.Mutant.Files {
		if !isProgram(file) {
			continue
		}
		healthy, err := os.ReadFile(filepath.Join(t.suite.Root, file))
		text, failed := os.ReadFile(filepath.Join(t.broken.Tree, file))
		own[file] = schemata.Version{Mutant: t.Mutant.Name, Text: text}
		if err := cmp.Or(err, failed, schemata.Fit(healthy, own[file])); err != nil {
			return err
		}
	}
	for file, version := range own {
		versions[file] = append(versions[file], version)
	}
	return nil
}

// combine writes the files that have versions to a directory, each with all of them, and returns the overlay of them.
func (s Suite) combine(versions map[string][]schemata.Version, directory string) (overlay string, err error) {
	overlay = filepath.Join(directory, "overlay.json")
	files := slices.Collect(maps.Keys(versions))
	for file := range versions {
		healthy, err := os.ReadFile(filepath.Join(s.Root, file))
		if err != nil {
			return "", err
		}
		text, name, err := schemata.Combine(healthy, versions[file])
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		selector := filepath.Join(filepath.Dir(file), "zz_mutants.go")
		files = append(files, selector)
		if err := errors.Join(writeFile(filepath.Join(directory, file), text), writeFile(filepath.Join(directory, selector), schemata.Selector(name))); err != nil {
			return "", err
		}
	}
	return overlay, errors.Join(os.MkdirAll(directory, 0o755), writeOverlay(s.Root, directory, files, overlay))
}
