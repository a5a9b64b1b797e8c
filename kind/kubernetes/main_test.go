package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// What `make demo` compiles must not grow unnoticed: apart from the embedded
// cluster's programs, the tools are those that only a node runs.
func TestProgramsFitGoMod(t *testing.T) {
	for file, names := range map[string][]string{
		"go.mod":          append([]string{"kube-proxy", "kubeadm", "kubelet"}, programs...),
		"previous/go.mod": controlPlane,
	} {
		var tools []string
		for _, tool := range read(t, file).Tool {
			// The one program that is not named after its package.
			tools = append(tools, strings.Replace(path.Base(tool.Path), "v3", "etcd", 1))
		}
		slices.Sort(tools)
		if want := slices.Sorted(slices.Values(names)); !slices.Equal(tools, want) {
			t.Errorf("%s names %q, expected %q", file, tools, want)
		}
	}
}

// goMod is what the tests need of a go.mod.
type goMod struct {
	Tool    []struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		New struct{ Path, Version string }
	}
}

func read(t *testing.T, file string) (manifest goMod) {
	t.Helper()
	output, err := exec.Command("go", "mod", "edit", "-json", file).Output()
	if err == nil {
		err = json.Unmarshal(output, &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// All of Kubernetes is in one version in each go.mod, and the one in previous is that of the minor version before.
func TestVersions(t *testing.T) {
	var minors []int
	for _, file := range []string{"go.mod", "previous/go.mod"} {
		manifest, version := read(t, file), ""
		for _, required := range manifest.Require {
			if required.Path == "k8s.io/kubernetes" {
				version = required.Version
			}
		}
		minor, patch := 0, 0
		if _, err := fmt.Sscanf(version, "v1.%d.%d", &minor, &patch); err != nil {
			t.Fatalf("%s requires Kubernetes %q: %v", file, version, err)
		}
		for _, replaced := range manifest.Replace {
			if want := fmt.Sprintf("v0.%d.%d", minor, patch); strings.HasPrefix(replaced.New.Path, "k8s.io/") && replaced.New.Version != want {
				t.Errorf("%s has %s %s beside Kubernetes %s, expected %s", file, replaced.New.Path, replaced.New.Version, version, want)
			}
		}
		minors = append(minors, minor)
	}
	if minors[0] != minors[1]+1 {
		t.Errorf("the minor versions are %d, and %d in previous, expected the one before", minors[0], minors[1])
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
