package class

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// exportsFile has the hash of each export that was written, so that a later export may replace it.
const exportsFile = ".exports"

// own are the files and directories of a class that its commands read or write.
var own = append([]string{File, SecretFile, lockFile}, personal...)

// CheckExport returns an error unless an export may be written to a file: a new one in a directory that exists, or one with an earlier
// export as it was written.
func (c *Class) CheckExport(file string) error {
	if file == "-" {
		return errors.New("OUT=- is not the name of a file: use one such as OUT=grades.csv")
	}
	directory := filepath.Dir(file)
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no directory %s to write %s in: make it, or name another file with OUT", directory, filepath.Base(file))
	}
	switch inside, err := c.owns(file); {
	case err != nil:
		return err
	case inside:
		return fmt.Errorf("%s belongs to the class: name another file with OUT", file)
	}
	switch info, err := os.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name another one with OUT", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	known, err := os.ReadFile(filepath.Join(c.Dir, exportsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !slices.Contains(strings.Fields(string(known)), exportHash(text)) {
		return fmt.Errorf("%s is not an export of this class, or was changed since: move it away, or name another file with OUT", file)
	}
	return nil
}

// owns reports whether a file is one of the class, or in one of its directories. Its directory has to exist.
func (c *Class) owns(file string) (bool, error) {
	root, err := resolve(c.Dir)
	if err != nil {
		return false, err
	}
	directory, err := resolve(filepath.Dir(file))
	if err != nil {
		return false, err
	}
	within, err := filepath.Rel(root, filepath.Join(directory, filepath.Base(file)))
	if err != nil {
		return false, err
	}
	first, _, _ := strings.Cut(filepath.ToSlash(within), "/")
	return slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, first) }), nil
}

// resolve returns the absolute path without links.
func resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// NoteExport notes an export that is about to be written.
func (c *Class) NoteExport(text []byte) error {
	file, err := os.OpenFile(filepath.Join(c.Dir, exportsFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, exportHash(text))
	return errors.Join(err, file.Close())
}

func exportHash(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
