package exercises

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

// kept are the files of a copy that are not about the operator in it: what its learner has done, what of that was reported,
// and whose it is.
var kept = []string{event.File, event.ClassFile, report.StateFile}

// Reset makes the copy in dir what its chapter starts with again. The learner's version is kept next to it.
func Reset(ctx context.Context, root, dir string, out io.Writer) error {
	fault, broken, err := faultIn(root, dir)
	if err != nil {
		return err
	}
	c, err := chapterOf(root, dir)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	before, err := free(dir)
	if err != nil {
		return err
	}
	// Both ends of a rename are in the same directory, and so on the same disk.
	work, err := os.MkdirTemp(filepath.Dir(dir), ".reset-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fresh := filepath.Join(work, "copy")
	began := "the broken operator of " + c.Name
	if broken {
		err = fault.eject(ctx, root, fresh)
	} else {
		began, err = begin(ctx, root, c, fresh)
	}
	if err != nil {
		return err
	}
	for _, file := range kept {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, file), content, 0o644)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(dir, before); err != nil {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(before, dir))
	}
	fmt.Fprintf(out, "%s contains %s again. Your previous version is in %s.\n", dir, began, before)
	return nil
}

// free returns an unused name for the learner's version of dir.
func free(dir string) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.before-%d", dir, n)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
}
