package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Broken is where a mutant's fault is ready to be used.
type Broken struct {
	// Overlay is a file for `go build -overlay`: the compiler sees the broken Go files in place of the real ones.
	Overlay string
	// Tree is a directory with the broken files, at their paths in the repository.
	Tree string
	// Manifests is a copy of the operator's config directory with the broken YAML files, or "" when the fault is in Go alone.
	Manifests string
}

// Apply changes copies of the files in a directory of its own, work. The repository at root is not touched. The operator's manifests
// are in its directory config.
func (m Mutant) Apply(ctx context.Context, root, config, work string) (Broken, error) {
	broken := Broken{Tree: filepath.Join(work, "tree"), Overlay: filepath.Join(work, "overlay.json")}
	if slices.ContainsFunc(m.Files, func(file string) bool { return strings.HasPrefix(file, config+"/") }) {
		broken.Manifests = filepath.Join(broken.Tree, config)
		if err := os.CopyFS(broken.Manifests, os.DirFS(filepath.Join(root, config))); err != nil {
			return Broken{}, fmt.Errorf("copy the manifests that %s changes: %w", m.Name, err)
		}
	}
	for _, file := range m.Files {
		content, err := m.Content[file], error(nil)
		if content == nil {
			content, err = os.ReadFile(filepath.Join(root, file))
		}
		if err == nil {
			err = writeFile(filepath.Join(broken.Tree, file), content)
		}
		if err != nil {
			return Broken{}, fmt.Errorf("copy what %s changes: %w", m.Name, err)
		}
	}
	if m.Path != "" {
		if err := m.patch(ctx, broken.Tree, work); err != nil {
			return Broken{}, err
		}
	}
	return broken, writeOverlay(root, broken.Tree, slices.DeleteFunc(slices.Clone(m.Files), func(file string) bool { return !isCode(file) }), broken.Overlay)
}

// patch applies the mutant's patch to the copies in tree. git finds the place where lines have moved.
func (m Mutant) patch(ctx context.Context, tree, work string) error {
	patch, err := filepath.Abs(m.Path)
	if err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", patch)
	apply.Dir = tree
	// Outside of any repository, so that git takes the paths as they are.
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(work), "GIT_DIR="+filepath.Join(work, "none"))
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("%s no longer fits the code, write it again: %w: %s", m.Path, err, bytes.TrimSpace(out))
	}
	return nil
}

// writeOverlay writes the JSON that `go help build` describes under -overlay: files of root are read from tree instead.
func writeOverlay(root, tree string, files []string, path string) error {
	replaced := map[string]string{}
	for _, file := range files {
		replaced[filepath.Join(root, file)] = filepath.Join(tree, file)
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

func writeFile(path string, content []byte) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
}
