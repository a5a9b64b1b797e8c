package markdown

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// difference is what a block that names two files or folders should show.
func difference(root string, i info) (string, error) {
	from, err := filesOf(root, i.attributes["from"])
	if err != nil {
		return "", err
	}
	to, err := filesOf(root, i.attributes["to"])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(from, to...)))) {
		oldName, oldPart, err := side(root, i, i.attributes["from"], name, slices.Contains(from, name))
		if err != nil {
			return "", err
		}
		newName, newPart, err := side(root, i, i.attributes["to"], name, slices.Contains(to, name))
		if err != nil {
			return "", err
		}
		_, lines, _ := bytes.Cut(diff.Diff(oldName, []byte(oldPart), newName, []byte(newPart)), []byte("\n"))
		b.Write(lines)
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%s and %s do not differ", i.attributes["from"], i.attributes["to"])
	}
	return b.String(), nil
}

// side is one side's name for a file, and what of it is compared.
func side(root string, i info, base, name string, there bool) (title, content string, err error) {
	if !there {
		return "/dev/null", "", nil
	}
	title = base
	if name != "" {
		title += "/" + name
	}
	if content, err = readFile(root, title); err != nil {
		return "", "", err
	}
	content, err = part(i, title, content)
	return title, content, err
}

// filesOf names the files of a folder, relative to it. A file's own name is then empty.
func filesOf(root, path string) ([]string, error) {
	base := filepath.Join(root, filepath.FromSlash(path))
	var files []string
	err := filepath.WalkDir(base, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(base, file)
		if name == "." {
			name = ""
		}
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("there is no %s", path)
	}
	return files, err
}
