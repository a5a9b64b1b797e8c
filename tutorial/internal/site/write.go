package site

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// marker is the name of the file beside the content directory that says that this package wrote it.
const marker = ".lab-site"

// Write makes out/content hold exactly the given files. It leaves alone those that are as they should be, so that what watches them sees
// only changes, and removes those that are stale. It refuses a content directory that it did not write.
func Write(out string, content map[string][]byte) error {
	directory := filepath.Join(out, "content")
	if err := claim(out, directory); err != nil {
		return err
	}
	for name, text := range content {
		file := filepath.Join(directory, filepath.FromSlash(name))
		if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			return fmt.Errorf("write the site's content: %w", err)
		}
	}
	return removeStale(directory, content)
}

// claim makes the directory, unless somebody else has.
func claim(out, directory string) error {
	_, noMarker := os.Stat(filepath.Join(out, marker))
	if entries, err := os.ReadDir(directory); err == nil && len(entries) > 0 && noMarker != nil {
		return fmt.Errorf("%s holds files that lab site did not write: remove it, or name another directory with --out", directory)
	}
	return errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(filepath.Join(out, marker), nil, 0o644))
}

// removeStale removes the files that are not in content, and directories that are empty then.
func removeStale(directory string, content map[string][]byte) error {
	var directories []string
	err := filepath.WalkDir(directory, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == directory {
			return err
		}
		name, err := filepath.Rel(directory, file)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			directories = append(directories, file)
			return nil
		}
		if _, wanted := content[filepath.ToSlash(name)]; !wanted {
			return os.Remove(file)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove stale files of the site: %w", err)
	}
	for _, inner := range slices.Backward(directories) {
		if entries, err := os.ReadDir(inner); err == nil && len(entries) == 0 {
			if err := os.Remove(inner); err != nil {
				return err
			}
		}
	}
	return nil
}
