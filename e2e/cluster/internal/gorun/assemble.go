package gorun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	xmodule "golang.org/x/mod/module"

	"github.com/example/operator-testbed/e2e/host/home"
)

// nested are the modules inside this one that a cluster is made with. Go does not download them with it.
var nested = []string{"kind/build", "kind/kubernetes", "kind/kubernetes/previous"}

// downloaded is a module in Go's module cache, as `go mod download -json` describes it.
type downloaded struct{ Path, Version, Dir, Sum, Error string }

// assemble returns a directory with a version of this repository, as far as commands need it: this module, and the modules of the same
// version inside it, at their places. So the replace directives of these, which are relative, are right. The directory is kept in
// the testbed's cache, under a name that contains a hash of what is in it.
func assemble(ctx context.Context, version string) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("make a copy of %s@%s: %w", module, version, err)
	}
	parts, err := download(ctx, version)
	if err != nil {
		return fail(err)
	}
	cache, err := home.Cache()
	if err != nil {
		return fail(err)
	}
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintln(sum, part.Path, part.Sum)
	}
	root := filepath.Join(cache, "sources", version+"-"+hex.EncodeToString(sum.Sum(nil))[:12])
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return fail(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(root), ".assemble-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	for _, part := range parts {
		place := strings.TrimPrefix(strings.TrimPrefix(part.Path, module), "/")
		if err := copyTree(filepath.Join(tree, filepath.FromSlash(place)), part.Dir); err != nil {
			return fail(err)
		}
	}
	// Another process may have made the same directory meanwhile.
	if err := os.Rename(tree, root); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	return root, nil
}

// download has the Go command download a version of this module and of those inside it, and verify their checksums.
func download(ctx context.Context, version string) ([]downloaded, error) {
	args := []string{"mod", "download", "-json", module + "@" + version}
	for _, path := range nested {
		args = append(args, module+"/"+path+"@"+nestedVersion(version))
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = os.TempDir() // because the go.mod of the working directory may replace modules
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errNoGo
	}
	var parts []downloaded
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var part downloaded
		if err := decoder.Decode(&part); err != nil {
			return nil, err
		}
		if part.Error != "" {
			return nil, fmt.Errorf("download %s: %s", part.Path, part.Error)
		}
		parts = append(parts, part)
	}
	if err != nil {
		return nil, fmt.Errorf("download modules: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return parts, nil
}

// nestedVersion returns what selects the version of a nested module that belongs to a version of this module: the same version or, if
// that is made from a commit without a tag, the commit, because the modules may have different tags before it.
func nestedVersion(version string) string {
	if !xmodule.IsPseudoVersion(version) {
		return version
	}
	revision, err := xmodule.PseudoVersionRev(version)
	if err != nil {
		return version
	}
	return revision
}

// copyTree copies the files of a module to a directory, writable, because the module cache's are not.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		place := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(place, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(place, content, 0o644)
	})
}
