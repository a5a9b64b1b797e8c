package mutant

import (
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

// errAskedFor is why a mutant has an executable of its own that could share one.
var errAskedFor = errors.New("it was asked for")

// Prepare breaks the operator in each of the ways and compiles it, into the folder work. One executable is the healthy operator and
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

// compile compiles the executable that is shared, and says of each other mutant why it has to be alone.
func (s Suite) compile(ctx context.Context, trials []*Trial, work string) (string, error) {
	operator := filepath.Join(work, "operator")
	shared := filepath.Join(work, "shared")
	var sharing []*Trial
	for _, t := range trials {
		if t.Err == nil && t.Alone == nil {
			if t.Alone = t.fit(); t.Alone == nil {
				sharing = append(sharing, t)
			}
		}
	}
	overlay, err := s.combine(sharing, shared)
	if err == nil {
		err = runner.Build(ctx, s.Root, s.Package, operator, "-overlay="+overlay)
	}
	if err != nil {
		// Whichever it is that does not compile, alone it will say so itself.
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

// breaksCode reports whether the mutant changes what is compiled.
func (m Mutant) breaksCode() bool { return slices.ContainsFunc(m.Files, isCode) }

func isCode(file string) bool { return strings.HasSuffix(file, ".go") }

// fit returns why the mutant can't share an executable, or nil.
func (t *Trial) fit() error {
	for _, file := range t.Mutant.Files {
		if !isCode(file) {
			continue
		}
		healthy, version, err := t.read(file)
		if err == nil {
			err = schemata.Fit(healthy, version)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read returns a file as it is, and as the mutant has it.
func (t *Trial) read(file string) (healthy []byte, version schemata.Version, err error) {
	healthy, err = os.ReadFile(filepath.Join(t.suite.Root, file))
	if err != nil {
		return nil, version, err
	}
	version.Mutant = t.Mutant.Name
	version.Text, err = os.ReadFile(filepath.Join(t.broken.Tree, file))
	return healthy, version, err
}

// combine writes the files that all of the mutants are in to a folder, and returns the overlay of them.
func (s Suite) combine(trials []*Trial, folder string) (overlay string, err error) {
	healthy, versions := map[string][]byte{}, map[string][]schemata.Version{}
	for _, t := range trials {
		for _, file := range t.Mutant.Files {
			if !isCode(file) {
				continue
			}
			var version schemata.Version
			if healthy[file], version, err = t.read(file); err != nil {
				return "", err
			}
			versions[file] = append(versions[file], version)
		}
	}
	replaced := map[string]string{}
	write := func(file string, text []byte) error {
		path := filepath.Join(folder, file)
		replaced[filepath.Join(s.Root, file)] = path
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}
	for _, file := range slices.Sorted(maps.Keys(versions)) {
		text, name, err := schemata.Combine(healthy[file], versions[file])
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		if err := errors.Join(write(file, text), write(filepath.Join(filepath.Dir(file), "zz_mutants.go"), schemata.Selector(name))); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "overlay.json"), writeOverlay(replaced, filepath.Join(folder, "overlay.json"))
}
