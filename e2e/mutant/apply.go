package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Broken is where a mutant's fault lies ready.
type Broken struct {
	// Overlay is a file for `go build -overlay`: the compiler sees the broken Go files in place of the real ones.
	Overlay string
	// Tree is a folder with the broken files, at their paths in the repository.
	Tree string
	// Manifests is a copy of the operator's config folder with the broken YAML files, or "" when the fault is in Go alone.
	Manifests string
}

// Apply patches copies of the files in a folder of its own, work. The repository at root is not touched. The operator's
// manifests are in its folder config.
func (m Mutant) Apply(ctx context.Context, root, config, work string) (Broken, error) {
	tree := filepath.Join(work, "tree")
	broken := Broken{Tree: tree}
	if slices.ContainsFunc(m.Files, func(file string) bool { return strings.HasPrefix(file, config+"/") }) {
		broken.Manifests = filepath.Join(tree, config)
		if err := os.CopyFS(broken.Manifests, os.DirFS(filepath.Join(root, config))); err != nil {
			return Broken{}, fmt.Errorf("copying the manifests that %s breaks: %w", m.Name, err)
		}
	}
	for _, file := range m.Files {
		if err := copyFile(filepath.Join(root, file), filepath.Join(tree, file)); err != nil {
			return Broken{}, fmt.Errorf("copying what %s breaks: %w", m.Name, err)
		}
	}
	if err := m.spoil(ctx, tree, work); err != nil {
		return Broken{}, err
	}
	replaced := map[string]string{}
	for _, file := range m.Files {
		if isCode(file) {
			replaced[filepath.Join(root, file)] = filepath.Join(tree, file)
		}
	}
	broken.Overlay = filepath.Join(work, "overlay.json")
	return broken, writeOverlay(replaced, broken.Overlay)
}

// spoil changes the copies in tree.
func (m Mutant) spoil(ctx context.Context, tree, work string) error {
	if m.Path == "" {
		for file, content := range m.Content {
			if err := os.WriteFile(filepath.Join(tree, file), content, 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	patch, err := filepath.Abs(m.Path)
	if err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", patch)
	apply.Dir = tree
	// Outside any repository, so that git takes the paths as they are.
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(work), "GIT_DIR="+filepath.Join(work, "none"))
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("%s no longer fits the code, write it anew: %w: %s", m.Path, err, bytes.TrimSpace(out))
	}
	return nil
}

// writeOverlay writes the JSON that `go help build` describes under -overlay: which file is read in place of which.
func writeOverlay(replaced map[string]string, path string) error {
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
