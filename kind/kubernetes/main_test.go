package main

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// Every tool line is built by somebody, and every set names tools only.
func TestSetsFitGoMod(t *testing.T) {
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
		// The one program that is called otherwise than its package.
		tools = append(tools, strings.Replace(path.Base(tool.Path), "v3", "etcd", 1))
	}
	slices.Sort(tools)
	used := slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(sets))...))))
	if !slices.Equal(tools, used) {
		t.Errorf("go.mod names %q, the sets name %q", tools, used)
	}
}

// What `make demo` compiles must not grow unnoticed.
func TestNodesProgramsAreNotInTheDefaultSet(t *testing.T) {
	for _, program := range []string{"kubelet", "kubeadm", "kube-proxy"} {
		if slices.Contains(sets["cluster"], program) {
			t.Errorf("%s is in the default set", program)
		}
	}
}
