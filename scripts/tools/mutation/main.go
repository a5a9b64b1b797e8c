// Command mutation changes the operator's Go code, one operator such as == or <
// at a time, and counts how often the unit tests of the package fail: make mutation.
//
// gremlins finds the places and makes the changes, in a copy of the code. This
// command replaces the Go command that gremlins calls, to correct what it gets
// wrong: see goCommand. A change that no test notices must be explained in
// survivors.yaml, or the command fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// copied is what the tests of the operator's packages need: the operator imports nothing else of this repository.
var copied = []string{"go.mod", "go.sum", "operator", "docs/reference/faults.md"}

// ignored matches what is generated, and programs that are not part of the operator.
var ignored = regexp.MustCompile(`zz_generated|/applyconfiguration/|^operator/hack/`)

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		os.Exit(goCommand(os.Args[1:]))
	}
	s := settings{root: ".", survivors: "scripts/tools/mutation/survivors.yaml"}
	flag.StringVar(&s.gremlins, "gremlins", "gremlins", "the program that makes the changes")
	flag.StringVar(&s.only, "only", "", "try only the packages whose directory matches this regular expression, such as ssa")
	flag.IntVar(&s.workers, "workers", runtime.NumCPU(), "how many changes are tried in parallel")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutation: %v\n", err)
		os.Exit(1)
	}
}

// settings say what is tried, and how.
type settings struct {
	root, gremlins, only, survivors string
	workers                         int
}

// run tries every change and reports to w.
func run(ctx context.Context, s settings, w io.Writer) error {
	matching, err := regexp.Compile(s.only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	known, err := readExplanations(filepath.Join(s.root, s.survivors))
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	source := filepath.Join(work, "source")
	if err := copyFiles(s.root, source); err != nil {
		return fmt.Errorf("copy the operator: %w", err)
	}
	directories, err := packages(source, matching)
	if err != nil {
		return err
	}
	if len(directories) == 0 {
		return fmt.Errorf("no package of the operator matches -only=%s", s.only)
	}
	g, err := newGremlins(s, work, source)
	if err != nil {
		return err
	}
	var all []mutant
	for _, directory := range directories {
		mutants, err := g.run(ctx, directory, w)
		if err != nil {
			return fmt.Errorf("%s: %w", directory, err)
		}
		all = append(all, mutants...)
	}
	return report(w, all, explain(all, known, directories))
}

// copyFiles copies what the tests need of the repository at root.
func copyFiles(root, target string) error {
	for _, name := range copied {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			to := filepath.Join(target, relative)
			if entry.IsDir() {
				if entry.Name() == "bin" {
					return fs.SkipDir
				}
				return os.MkdirAll(to, 0o755)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, content, 0o644)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packages returns the directories of the operator's packages that match, smallest first.
func packages(source string, matching *regexp.Regexp) ([]string, error) {
	sizes := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(source, "operator"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		directory := filepath.ToSlash(filepath.Dir(name))
		info, err := entry.Info()
		if err == nil && !ignored.MatchString(filepath.ToSlash(name)) && matching.MatchString(directory) {
			sizes[directory] += info.Size()
		}
		return err
	})
	return slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return int(sizes[a] - sizes[b]) }), err
}
