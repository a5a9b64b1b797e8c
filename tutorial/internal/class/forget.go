package class

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// personal is what a class knows about persons. class.yaml and the secret stay, for the next class.
var personal = []string{RosterFile, AdjustmentsFile, Release, Submitted, Graded, Feedback, "board", workDir, exportsFile, handoutsDir}

// Personal returns what [Forget] would remove of the class in a directory, with how many entries each directory has.
func Personal(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, File)); err != nil {
		return nil, fmt.Errorf("%s is not the directory of a class, which has a %s: nothing was removed", dir, File)
	}
	var found []string
	for _, name := range personal {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.IsDir():
			entries, err := os.ReadDir(path)
			if err != nil {
				return nil, err
			}
			found = append(found, fmt.Sprintf("%s (%d in it)", path, len(entries)))
		default:
			found = append(found, path)
		}
	}
	return found, nil
}

// Forget removes what a class knows about persons, and returns what that was. Nothing is read, so it works where the roster is
// broken.
func Forget(ctx context.Context, dir string) (_ []string, err error) {
	defer func() { err = Explain(ctx, err) }()
	found, err := Personal(dir)
	if err != nil {
		return nil, err
	}
	unlock, err := Lock(dir, "make class-forget")
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, name := range personal {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return found, nil
}
