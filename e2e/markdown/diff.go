package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// difference is what a block that names two files or directories should show.
func difference(root string, i info) (string, error) {
	from, to := i.attributes["from"], i.attributes["to"]
	var names []string // in the directories; that of a file is empty
	for _, base := range []string{from, to} {
		if err := fs.WalkDir(os.DirFS(root), base, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, file[len(base):])
			}
			return err
		}); err != nil {
			return "", fmt.Errorf("find the files of %s: %w", base, err)
		}
	}
	var b strings.Builder
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		oldTitle, oldPart, oldErr := side(root, from+name, i)
		newTitle, newPart, newErr := side(root, to+name, i)
		if err := errors.Join(oldErr, newErr); err != nil {
			return "", err
		}
		_, lines, _ := bytes.Cut(diff.Diff(oldTitle, []byte(oldPart), newTitle, []byte(newPart)), []byte("\n"))
		b.Write(lines)
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%s and %s do not differ", from, to)
	}
	return b.String(), nil
}

// side is one side's name for a file, and what of it is compared.
func side(root, file string, i info) (title, content string, err error) {
	content, err = excerpt(root, file, i)
	if errors.Is(err, errNoFile) {
		return "/dev/null", "", nil
	}
	return file, content, err
}
