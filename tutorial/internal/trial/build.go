// Package trial tries the tests that a learner has written: on the chapter's healthy operator, where they have to pass, and on the same
// operator with one fault in it, which they have to notice.
//
// The tests are compiled once, together with all faults of the chapter. An environment variable chooses one of them, or none, when the
// tests run. Its values are drawn for each executable, so tests can't find out from it whether they meet a fault.
package trial

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/mutant/schemata"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// The environment variables that name the tests to a suite: their executable, and the key of their faults.
const (
	testsVariable = "TESTBED_TESTS"
	keyVariable   = "TESTBED_TESTS_KEY"
)

// OverlayVariable is the environment variable that names an overlay of the Go command, with the tests as a mutant has them.
const OverlayVariable = "TESTBED_OVERLAY"

// Key is a secret, from which the values are computed that choose a fault.
type Key string

// NewKey returns another key each time.
func NewKey() Key { return Key(rand.Text()) }

// Value returns what chooses the fault of that name. No fault is called "".
func (k Key) Value(fault string) string {
	sum := sha256.Sum256([]byte(string(k) + "/" + fault))
	return hex.EncodeToString(sum[:8])
}

// Env returns the variables that name the tests to a suite.
func (k Key) Env(executable string) []string {
	return []string{testsVariable + "=" + executable, keyVariable + "=" + string(k)}
}

// Fault is a patch that adds a fault to the operator. Its head names the feature that is about it, and the test of the chapter that notices it.
type Fault = mutant.Mutant

// Faults returns the faults of c that tests have to notice.
func Faults(root string, c chapter.Chapter) ([]Fault, error) {
	return mutant.Read(filepath.Join(root, c.SuiteDirectory(), "faults"))
}

// Files returns the Go files of the package that the learner tests, except for its tests: those of the chapter, with the faults in them that
// the key chooses among. Their names are relative to the operator, and rewrite replaces names in their text.
func Files(ctx context.Context, root string, c chapter.Chapter, faults []Fault, key Key, rewrite func(string) string) (map[string][]byte, error) {
	operator := filepath.Join(root, c.OperatorDirectory())
	sources, err := filepath.Glob(filepath.Join(operator, filepath.FromSlash(c.Tests), "*.go"))
	if err != nil {
		return nil, err
	}
	files, versions := map[string][]byte{}, map[string][]schemata.Version{}
	for _, source := range sources {
		if isTest(source) {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		files[path.Join(c.Tests, filepath.Base(source))] = []byte(rewrite(string(text)))
	}
	work, err := os.MkdirTemp("", "trial-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	for _, fault := range faults {
		broken, err := fault.Apply(ctx, root, c.OperatorDirectory()+"/config", filepath.Join(work, fault.Name))
		if err != nil {
			return nil, err
		}
		for _, file := range fault.Files {
			within, ok := strings.CutPrefix(file, c.OperatorDirectory()+"/")
			if !ok || files[within] == nil {
				return nil, fmt.Errorf("the fault %s changes %s: it may change Go files of %s", fault.Name, file, c.Tests)
			}
			text, err := os.ReadFile(filepath.Join(broken.Tree, file))
			if err != nil {
				return nil, err
			}
			versions[within] = append(versions[within], schemata.Version{Mutant: key.Value(fault.Name), Text: []byte(rewrite(string(text)))})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(versions)) {
		combined, name, err := schemata.Combine(files[file], versions[file])
		if err != nil {
			return nil, fmt.Errorf("put the faults into %s: %w", file, err)
		}
		files[file] = combined
		files[path.Join(c.Tests, "zz_faults.go")] = schemata.Selector(name)
	}
	return files, nil
}

// Build compiles the tests of the operator in dir to a file, an absolute path, in the module of the directory from. The error is a [runner.CompileError] if they do not compile.
func Build(ctx context.Context, from, dir string, c chapter.Chapter, files map[string][]byte, executable string) error {
	return overlaid(from, dir, c, files, func(pkg, overlay string) error { return runner.BuildTests(ctx, from, pkg, executable, overlay) })
}

// overlaid has the tests of the operator in dir compiled, with the flag for the overlay of files. pkg is their package, relative to from.
func overlaid(from, dir string, c chapter.Chapter, files map[string][]byte, compile func(pkg, overlay string) error) (err error) {
	if err := Check(dir, c); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "trial-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	replace, err := given()
	if err != nil {
		return err
	}
	for file, text := range files {
		changed := filepath.Join(work, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(changed), 0o755), os.WriteFile(changed, text, 0o600)); err != nil {
			return err
		}
		replace[filepath.Join(dir, filepath.FromSlash(file))] = changed
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	list := filepath.Join(work, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	within, err := filepath.Rel(from, filepath.Join(dir, filepath.FromSlash(c.Tests)))
	if err != nil {
		return err
	}
	return compile("./"+filepath.ToSlash(within), "-overlay="+list)
}

// given returns the files that the overlay of the environment replaces.
func given() (map[string]string, error) {
	name := os.Getenv(OverlayVariable)
	if name == "" {
		return map[string]string{}, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var overlay struct{ Replace map[string]string }
	return overlay.Replace, json.Unmarshal(text, &overlay)
}

// NoTestsError says why there is nothing to try.
type NoTestsError string

func (e NoTestsError) Error() string { return string(e) }

// Check returns a [NoTestsError] if the tests of the operator in dir can't meet a fault. Those of another package would import the operator
// that has none.
func Check(dir string, c chapter.Chapter) error {
	directory := filepath.Join(dir, filepath.FromSlash(c.Tests))
	tests, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	if err != nil {
		return err
	}
	for _, test := range tests {
		text, err := os.ReadFile(test)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), test, text, parser.PackageClauseOnly)
		if err == nil && strings.HasSuffix(parsed.Name.Name, "_test") {
			return NoTestsError(fmt.Sprintf("%s is of the package %s: write your tests in the package that they test, %s",
				filepath.Base(test), parsed.Name.Name, strings.TrimSuffix(parsed.Name.Name, "_test")))
		}
	}
	if len(tests) == 0 {
		return NoTestsError(fmt.Sprintf("there are no tests in %s", c.Tests))
	}
	return nil
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }
