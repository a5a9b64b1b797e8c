package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sources stands for a module's own Go files, without its tests and the modules
// nested in it, and its go.mod and go.sum: what programs of the module itself may
// be built from.
func Sources(module string) ([]byte, error) {
	var files []string
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != module && isModule(path):
			return fs.SkipDir
		case !entry.IsDir() && isSource(entry.Name()):
			file, err := filepath.Rel(module, path)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	content, err := filesDigest(module, files)
	return []byte(content), err
}

func isSource(name string) bool {
	return name == "go.mod" || name == "go.sum" || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// filesDigest stands for the names and contents of files in a folder.
func filesDigest(dir string, files []string) (string, error) {
	h := sha256.New()
	for _, file := range slices.Sorted(slices.Values(files)) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", digest(data), filepath.ToSlash(file))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
