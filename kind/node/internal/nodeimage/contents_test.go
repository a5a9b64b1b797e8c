package nodeimage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRequired(t *testing.T) {
	got := required([]string{"registry.k8s.io/etcd:3", "registry.k8s.io/pause:3.11"}, []string{"docker.io/kindest/kindnetd:v1", "registry.k8s.io/pause:3.10"})
	want := []string{"registry.k8s.io/etcd:3", "docker.io/kindest/kindnetd:v1", "registry.k8s.io/pause:3.10"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}

func TestImage(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"kube-proxy", "coredns"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := programs{"/no/such/directory", dir}
	for name, want := range map[string]struct{ entrypoint, base string }{
		"registry.k8s.io/coredns/coredns:v1.14.6":   {"/coredns", ""},
		"registry.k8s.io/kube-proxy:v1.37.0":        {"/usr/local/bin/kube-proxy", "tools.tar"},
		"docker.io/kindest/local-path-helper:v2026": {"", "tools.tar"},
	} {
		image, err := p.image(name, "tools.tar")
		if err != nil {
			t.Fatal(err)
		}
		if image.Name != name || image.Base != want.base || strings.Join(image.Entrypoint, " ") != want.entrypoint {
			t.Errorf("%s: got %+v", name, image)
		}
	}
	if _, err := p.image("registry.k8s.io/unknown:v1", ""); err == nil || !strings.Contains(err.Error(), "registry.k8s.io/unknown:v1") {
		t.Errorf("an unknown image: %v", err)
	}
	if _, err := p.image("registry.k8s.io/etcd:3", ""); err == nil || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("a missing program: %v", err)
	}
}
