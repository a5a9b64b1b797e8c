// Package inputs lets the Go command reuse the result of a suite that has passed, until something changes that the result depends on.
//
// The Go command keeps the result of a test that has passed, with the names of the files that the test has opened in its module, and of the
// environment variables that it has read with os.Getenv. It reuses the result while the test binary, these files (by size and time) and these
// variables are the same. But it does not see what other processes read, such as the compiler of the operator under test, nor what was read
// before the tests began, which is when a suite starts its cluster. A [Set] opens these files again, during a test.
package inputs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Set are the files that the result of a suite depends on, as they were when they were added. The zero value is empty.
type Set struct {
	states map[string]state
	// beyond says why a file may be missing that the result depends on; empty means that none is.
	beyond string
}

// state is what the Go command goes by.
type state struct {
	size     int64
	modified int64
	mode     fs.FileMode
}

// Beyond returns why the set can't hold all that the result depends on; empty means that it does.
func (s *Set) Beyond() string { return s.beyond }

// Paths returns the absolute paths of the files and directories, sorted.
func (s *Set) Paths() []string {
	paths := make([]string, 0, len(s.states))
	for path := range s.states {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// AddTree adds files, and directories with all that is in them, except for what does not become part of a program: tests in Go, and
// directories called bin.
func (s *Set) AddTree(paths ...string) error {
	for _, root := range paths {
		root, err := filepath.Abs(root)
		if err != nil {
			return err
		}
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "bin" && path != root:
				return fs.SkipDir
			case strings.HasSuffix(path, "_test.go"):
				return nil
			default:
				return s.add(path)
			}
		})
		if err != nil {
			return fmt.Errorf("list what a result depends on: %w", err)
		}
	}
	return nil
}

// add adds one file or directory.
func (s *Set) add(path string) error {
	now, err := stat(path)
	if err != nil {
		return err
	}
	if s.states == nil {
		s.states = map[string]state{}
	}
	if _, known := s.states[path]; !known {
		s.states[path] = now
	}
	return nil
}

func stat(path string) (state, error) {
	info, err := os.Stat(path)
	if err != nil {
		return state{}, err
	}
	return state{size: info.Size(), modified: info.ModTime().UnixNano(), mode: info.Mode()}, nil
}

// listed is a package, as the Go command lists it.
type listed struct {
	Dir                                                              string
	Standard                                                         bool
	GoFiles, CgoFiles, SFiles, HFiles, CFiles, SysoFiles, EmbedFiles []string
	Module                                                           *struct {
		Path, GoMod string
		Main        bool
		Replace     *struct{ Version string }
	}
}

// AddProgram adds the files of the main module that a program is compiled from, and what pins those of other modules. pkg is its main
// package, as seen from the directory dir. It returns the path and the directory of the main module.
func (s *Set) AddProgram(ctx context.Context, dir, pkg string) (module, root string, err error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps",
		"-json=Dir,Standard,GoFiles,CgoFiles,SFiles,HFiles,CFiles,SysoFiles,EmbedFiles,Module", pkg)
	list.Dir = dir
	var stderr bytes.Buffer
	list.Stderr = &stderr
	output, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("list what %s is compiled from: %w\n%s", pkg, err, bytes.TrimSpace(stderr.Bytes()))
	}
	for packages := json.NewDecoder(bytes.NewReader(output)); packages.More(); {
		var p listed
		if err := packages.Decode(&p); err != nil {
			return "", "", fmt.Errorf("list what %s is compiled from: %w", pkg, err)
		}
		switch {
		case p.Standard: // it comes with the Go command, as part of the test binary does
		case p.Module == nil:
			s.beyond = "the Go command does not say which module " + p.Dir + " belongs to"
		case p.Module.Main && root != "" && root != filepath.Dir(p.Module.GoMod):
			s.beyond = "it is compiled from several modules that have no version: " + p.Module.Path + " and " + module
		case p.Module.Main:
			module, root = p.Module.Path, filepath.Dir(p.Module.GoMod)
			err = errors.Join(err, s.addPackage(p))
		case p.Module.Replace != nil && p.Module.Replace.Version == "":
			s.beyond = "go.mod replaces " + p.Module.Path + " by a directory"
		}
	}
	if err == nil && root != "" {
		err = s.add(filepath.Join(root, "go.mod"))
		if sum := filepath.Join(root, "go.sum"); err == nil && exists(sum) {
			err = s.add(sum)
		}
	}
	return module, root, err
}

// addPackage adds the files of a package, and its directory: its time changes with a new file.
func (s *Set) addPackage(p listed) error {
	err := s.add(p.Dir)
	for _, files := range [][]string{p.GoFiles, p.CgoFiles, p.SFiles, p.HFiles, p.CFiles, p.SysoFiles, p.EmbedFiles} {
		for _, file := range files {
			err = errors.Join(err, s.add(filepath.Join(p.Dir, file)))
		}
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Read shows the files to the Go command. Call it in a test: what is read before the tests begin is not seen.
func (s *Set) Read() {
	for _, path := range s.Paths() {
		if s.states[path].mode.IsDir() {
			_, _ = os.Stat(path)
		} else if file, err := os.Open(path); err == nil {
			_ = file.Close()
		}
	}
}

// Variables shows environment variables to the Go command, in the same way. It can't see the environment of other processes.
func Variables(names ...string) {
	for _, name := range names {
		_ = os.Getenv(name)
	}
}

// Changed returns the files that have changed since they were added, sorted.
func (s *Set) Changed() []string {
	var changed []string
	for path, was := range s.states {
		if now, err := stat(path); err != nil || now != was {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return changed
}

// Wanted reports whether the Go command is going to keep the result of this process. It isn't with -count=1, and where the test binary is
// executed by another program. It parses the flags, which the testing package does only when the tests begin: define yours before.
func Wanted() bool {
	if !flag.Parsed() {
		flag.Parse()
	}
	return log() != ""
}

// log is the file in which the testing package writes down what a test reads; empty if it doesn't.
func log() string {
	if path := flag.Lookup("test.testlogfile"); path != nil {
		return path.Value.String()
	}
	return ""
}

// Discard keeps the Go command from reusing the result of this process: for one that depends on what the Go command can't see, or on files
// that have changed since they were read. The Go command keeps a result only with the list of what the test has read, so this removes the
// file in which the testing package writes that down.
func Discard() error {
	if !Wanted() {
		return nil
	}
	if err := os.Remove(log()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the Go command from reusing a result: %w", err)
	}
	return nil
}
