package kindmodule

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tests read the very module that go.mod has: a bump of kind that moves
// something is seen here.
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
		if !found || tag == "" || !strings.HasPrefix(image, "docker.io/kindest/") {
			t.Errorf("%s is not in full", image)
		}
		names = append(names, repository)
	}
	if want := []string{"kindnetd", "local-path-provisioner", "local-path-helper"}; !slices.Equal(names, want) {
		t.Errorf("got %q, expected %q", names, want)
	}
}

func TestSandboxImage(t *testing.T) {
	image, err := find(t).SandboxImage()
	if err != nil || !strings.HasPrefix(image, "registry.k8s.io/pause:") {
		t.Errorf("got %s and %v", image, err)
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
	config := filepath.Join(m.Dir, "config.toml")
	if err := os.WriteFile(config, []byte("version = 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.adapt(config); err == nil || !strings.Contains(err.Error(), "kind/node must follow") {
		t.Errorf("got %v", err)
	}
}
