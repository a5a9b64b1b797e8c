package kindmodule

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tests read the module that go.mod requires, so they notice an update of kind
// that moves something.
func find(t *testing.T) Module {
	t.Helper()
	m, err := Find(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestImages(t *testing.T) {
	images, err := find(t).Images()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, image := range images {
		repository, tag, found := strings.Cut(path.Base(image), ":")
		if !found || tag == "" || strings.Count(image, "/") == 0 {
			t.Errorf("%s is not a full name", image)
		}
		names = append(names, repository)
	}
	if want := []string{"kindnetd", "local-path-provisioner", "local-path-helper", "pause"}; !slices.Equal(names, want) {
		t.Errorf("got %q, expected %q", names, want)
	}
}

func TestFilesAreCopiedWithTheirModes(t *testing.T) {
	dir := t.TempDir()
	if err := find(t).CopyFiles(dir); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{
		"usr/local/bin/entrypoint":           0o755,
		"kind/bin/mount-product-files.sh":    0o755,
		"etc/systemd/system/kubelet.service": 0o644,
		containerdConfig:                     0o644,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, expected %v", name, info.Mode().Perm(), mode)
		}
	}
	config, err := os.ReadFile(filepath.Join(dir, containerdConfig))
	if err != nil || !strings.Contains(string(config), "restrict_oom_score_adj = true") {
		t.Errorf("containerd's configuration is not adapted: %v", err)
	}
}

func TestChangedSourceIsRefused(t *testing.T) {
	m := Module{Dir: t.TempDir(), Version: "v9"}
	config := filepath.Join(m.Dir, "images", "base", "files", containerdConfig)
	for _, name := range sources {
		file := filepath.Join(m.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("package x\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Images(); err == nil || !strings.Contains(err.Error(), "kind/node must follow") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(config, []byte("version = 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.adapt(config); err == nil || !strings.Contains(err.Error(), "kind/node must follow") {
		t.Errorf("got %v", err)
	}
}
