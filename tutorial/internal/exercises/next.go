package exercises

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// List prints the features of the chapter that the copy in dir is for.
func List(root, dir string, out io.Writer) error {
	s, err := open(CheckInput{Root: root, Dir: dir})
	if err != nil {
		return err
	}
	for _, name := range s.features {
		fmt.Fprintf(out, "  %s: %s\n", name, s.chapter.Features[name].Claim)
	}
	return nil
}

// Next makes a copy for the chapter after that of the copy in dir, or for the next break-it lab, and returns its directory: beside dir, with the
// name of the chapter or the lab. If it is there already, the learner goes on with it.
func Next(ctx context.Context, root, dir string, out io.Writer) (string, error) {
	stage, lab, err := Of(root, dir)
	if err != nil {
		return "", err
	}
	chapters, labs, err := Names(root)
	if err != nil {
		return "", err
	}
	names, current, begin := chapters, stage, Start
	if lab != "" {
		names, current, begin = labs, lab, Break
	}
	after := slices.Index(names, current) + 1
	if after == len(names) {
		return "", fmt.Errorf("%s is the last chapter: make progress lists the others", current)
	}
	next := filepath.Join(filepath.Dir(filepath.Clean(dir)), names[after])
	if stage, lab, err := Of(root, next); err == nil && (lab == names[after] || lab == "" && stage == names[after]) {
		fmt.Fprintf(out, "%s already exists.\n", next)
		return next, nil
	}
	return next, begin(ctx, root, names[after], next, out)
}
