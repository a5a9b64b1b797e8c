package exercises

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// generators are the targets that write what is generated from types and markers.
var generators = []string{"manifests", "generate"}

// stale returns the files of the copy in dir that its generators would write otherwise: somebody has changed a type or a marker
// and has not run them. It runs them in a copy of the copy.
func stale(ctx context.Context, dir string) ([]string, error) {
	makefile, err := os.ReadFile(filepath.Join(dir, "Makefile"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	arguments := slices.DeleteFunc(slices.Clone(generators), func(target string) bool {
		return !bytes.Contains(makefile, []byte("\n"+target+":"))
	})
	if len(arguments) == 0 {
		return nil, nil
	}
	work, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	before, err := filesOf(dir)
	if err != nil {
		return nil, err
	}
	if err := chapter.Write(work, before); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "make", append([]string{"--silent"}, arguments...)...)
	command.Dir = work
	// Of the make that this may have been started by, nothing counts.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MAKE") || strings.HasPrefix(variable, "MFLAGS=")
	})
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	after, err := filesOf(work)
	if err != nil {
		return nil, err
	}
	return chapter.Differences(before, after), nil
}

// filesOf returns the files in a directory by their paths in it, without what is built or git's own.
func filesOf(directory string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, entry.Name()):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		file, err := filepath.Rel(directory, path)
		if err == nil {
			files[filepath.ToSlash(file)], err = os.ReadFile(path)
		}
		return err
	})
	return files, err
}
