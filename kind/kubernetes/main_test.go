package main

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// What `make demo` compiles must not grow unnoticed: apart from the embedded
// cluster's programs, the tools are those that only a node runs.
func TestProgramsFitGoMod(t *testing.T) {
	output, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Tool []struct{ Path string } }
	if err := json.Unmarshal(output, &manifest); err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range manifest.Tool {
		// The one program that is not named after its package.
		tools = append(tools, strings.Replace(path.Base(tool.Path), "v3", "etcd", 1))
	}
	slices.Sort(tools)
	want := slices.Sorted(slices.Values(append([]string{"kube-proxy", "kubeadm", "kubelet"}, programs...)))
	if !slices.Equal(tools, want) {
		t.Errorf("go.mod names %q, expected %q", tools, want)
	}
}
