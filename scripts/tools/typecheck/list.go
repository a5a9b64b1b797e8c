package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// listed is a package as `go list -json` describes it.
type listed struct {
	// ImportPath is unique: for a package compiled for a test, it has the test's
	// name in brackets as a suffix.
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
	ImportMap  map[string]string // import as written -> ImportPath
	Standard   bool
	Module     *struct{ GoVersion string }
	Error      *struct{ Err string }
}

// list names packages and everything they import on a platform. A package that
// has no files there, or can't be found, is an error.
func list(dir, platform string, tests bool, patterns []string) ([]*listed, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("invalid platform %q: write it as linux/arm64", platform)
	}
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Name,Dir,GoFiles,Imports,ImportMap,Standard,Module,Error"}
	if tests {
		args = append(args, "-test")
	}
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Dir = dir
	// Without cgo, as on a machine that has no C compiler.
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}

	var packages []*listed
	var failures []error
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return packages, errors.Join(failures...)
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		if p.Error != nil {
			failures = append(failures, errors.New(p.Error.Err))
		}
		// The main packages that go test makes up are the go command's own.
		if strings.HasSuffix(p.ImportPath, ".test") && p.Name == "main" {
			continue
		}
		packages = append(packages, p)
	}
}
