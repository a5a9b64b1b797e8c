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

func TestDownloads(t *testing.T) {
	for name, c := range map[string]struct {
		env     map[string]string
		allowed bool
		mirror  string
		fails   string
	}{
		"nothing set": {nil, true, "", ""},
		"yes":         {map[string]string{"TESTBED_DOWNLOAD": "yes"}, true, "", ""},
		"no":          {map[string]string{"TESTBED_DOWNLOAD": "no", "TESTBED_MIRROR": "https://mirror.example.com"}, false, "", ""},
		"a mirror":    {map[string]string{"TESTBED_MIRROR": "https://mirror.example.com/a"}, true, "https://mirror.example.com/a", ""},
		"neither yes nor no": {
			map[string]string{"TESTBED_DOWNLOAD": "never"}, false, "",
			`invalid TESTBED_DOWNLOAD "never": use no to compile everything, or leave it unset`,
		},
		"a mirror without a scheme": {
			map[string]string{"TESTBED_MIRROR": "mirror.example.com"}, false, "",
			`invalid TESTBED_MIRROR: "mirror.example.com" is not the address of a mirror: use one such as https://mirror.example.com/kubernetes`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, mirror, err := downloads(func(variable string) string { return c.env[variable] })
			said := ""
			if err != nil {
				said = err.Error()
			}
			if allowed != c.allowed || mirror != c.mirror || said != c.fails {
				t.Errorf("got %t, %q and %q", allowed, mirror, said)
			}
		})
	}
}
