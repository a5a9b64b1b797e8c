// Package repository finds the clone that a command was started in. The
// operator's sources and manifests are used from there.
package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/example/operator-testbed"

// Root returns the root of the clone that holds the folder dir: the nearest
// folder above it whose go.mod names the testbed's module.
func Root(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the repository: %w", err)
		}
		for line := range strings.Lines(string(content)) {
			if strings.TrimSpace(line) == "module "+module {
				return folder, nil
			}
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("%s is not in a clone of operator-testbed: change to one and try again", start)
		}
	}
}
