package nodeimage

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/kind/node/internal/archive"
)

func TestEveryImageIsInAnArchiveThatKindReads(t *testing.T) {
	in := distribute([]archive.Image{
		{Name: "registry.k8s.io/kube-apiserver:v1"},
		{Name: "registry.k8s.io/coredns/coredns:v1"},
		{Name: "registry.k8s.io/kube-proxy:v1"},
	})
	if len(in["kube-apiserver"]) != 1 || len(in["kube-proxy"]) != 2 || len(in) != 2 {
		t.Errorf("got %v", in)
	}
}

func TestReleaseHasKubernetesLayout(t *testing.T) {
	dir := t.TempDir()
	kubeadm := filepath.Join(dir, "kubeadm")
	if err := os.WriteFile(kubeadm, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := release{version: "v1.37.0", architecture: "amd64", programs: []string{kubeadm}, images: []archive.Image{{Name: "registry.k8s.io/pause:3"}}}
	for _, name := range archiveNames {
		r.images = append(r.images, archive.Image{Name: "registry.k8s.io/" + name + ":v1.37.0"})
	}
	file, err := r.pack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(header.Name, "kubernetes/"))
	}
	want := []string{
		"version", "server/bin/kubeadm", "server/bin/kube-apiserver.tar",
		"server/bin/kube-controller-manager.tar", "server/bin/kube-scheduler.tar", "server/bin/kube-proxy.tar",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, expected %q", names, want)
	}
}

func TestImageName(t *testing.T) {
	version, err := versionIn("require (\n\tk8s.io/kubelet v0.37.0\n\tk8s.io/kubernetes v1.37.0 // indirect\n)\n")
	if err != nil || version != "v1.37.0" {
		t.Errorf("got %s and %v", version, err)
	}
	name := imageName(version, []string{"a", "b"})
	if !strings.HasPrefix(name, repository+":v1.37.0-") {
		t.Errorf("got %s", name)
	}
	if imageName(version, []string{"a", "c"}) == name {
		t.Error("the name does not depend on the inputs")
	}
	if _, err := versionIn("module m\n"); err == nil {
		t.Error("a go.mod without Kubernetes was read")
	}
}

func TestAdaptSpec(t *testing.T) {
	adapted, err := adaptSpec([]byte(`{"process": {"args": ["sh"], "rlimits": [{"type": "RLIMIT_NOFILE"}]}, "hooks": {"createContainer": [{"path": "/first"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Process map[string]any
		Hooks   struct{ CreateContainer []struct{ Path string } }
	}
	if err := json.Unmarshal(adapted, &got); err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Process["rlimits"]; ok || got.Process["args"] == nil {
		t.Errorf("the process is %v", got.Process)
	}
	if hooks := got.Hooks.CreateContainer; len(hooks) != 2 || hooks[1].Path != "/kind/bin/mount-product-files.sh" {
		t.Errorf("the hooks are %v", hooks)
	}
	if _, err := adaptSpec([]byte("no JSON")); err == nil {
		t.Error("a text that is not JSON was read")
	}
}
