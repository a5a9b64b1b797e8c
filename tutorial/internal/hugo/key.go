package hugo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFile holds the key of the site that it is in. Its name starts with a dot, so that what publishes the site leaves it out.
const keyFile = ".key"

// inputs are what a site is made of beside its pages, in the directory of its settings. Whatever else is there decides nothing.
var inputs = []string{"go.mod", "go.sum", "hugo.yaml", "archetypes", "assets", "data", "i18n", "layouts", "static"}

// key returns the hash of everything that decides what the site of the pages in a directory is like. It is the same on every machine.
func (s Site) key(content string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "base %q\n", s.Base)
	if err := hashFiles(sum, content); err != nil {
		return "", err
	}
	for _, name := range inputs {
		if err := hashFiles(sum, filepath.Join(s.directory(), name)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// hashFiles adds a file, or the files below a directory, to a hash, with their names. There may be none.
func hashFiles(sum hash.Hash, root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if path == root && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(root), path)
		if err != nil {
			return err
		}
		return hashFile(sum, filepath.ToSlash(name), path)
	})
}

func hashFile(sum hash.Hash, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "file %q %d\n", name, info.Size())
	_, err = io.Copy(sum, file)
	return err
}

// keyOf returns the key of the site in a directory, which is empty if there is none.
func keyOf(directory string) string {
	key, err := os.ReadFile(filepath.Join(directory, keyFile))
	if err != nil {
		return ""
	}
	return string(key)
}

func writeKey(directory, key string) error {
	return os.WriteFile(filepath.Join(directory, keyFile), []byte(key), 0o644)
}
