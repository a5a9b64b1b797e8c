package recipe

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestLDFlagsOfKubernetes(t *testing.T) {
	flags := ldflags("k8s.io/kubernetes", "v1.37.0")
	for _, want := range []string{
		"-s -w ",
		" -X k8s.io/component-base/version.gitVersion=v1.37.0 ",
		" -X k8s.io/component-base/version.gitMajor=1 ",
		" -X k8s.io/component-base/version.gitMinor=37 ",
		" -X k8s.io/component-base/version.gitTreeState=clean ",
		" -X k8s.io/client-go/pkg/version.gitVersion=v1.37.0 ",
	} {
		if !strings.Contains(flags+" ", want) {
			t.Errorf("the flags lack %q: %s", want, flags)
		}
	}
}

func TestModuleWithoutStamps(t *testing.T) {
	if flags := ldflags("go.etcd.io/etcd/server/v3", "v3.7.0"); flags != "-s -w" {
		t.Errorf("got %q, expected -s -w", flags)
	}
}

func TestMajorMinor(t *testing.T) {
	for version, want := range map[string][2]string{
		"v1.37.0":      {"1", "37"},
		"v1.38.0-rc.1": {"1", "38"},
		"v2":           {"", ""},
	} {
		if major, minor := majorMinor(version); major != want[0] || minor != want[1] {
			t.Errorf("%s is %q.%q, expected %q", version, major, minor, want)
		}
	}
}

// The tables of names and stamps must be about tools that the modules beside
// this one have: after a bump that moves one, its program would lose its name or
// its version in silence.
func TestTablesFitTheModules(t *testing.T) {
	var tools []string
	for _, module := range []string{"kubernetes", "node"} {
		cmd := exec.Command("go", "mod", "edit", "-json")
		cmd.Dir = "../../../" + module
		output, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := ParseManifest(output)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range manifest.Tool {
			tools = append(tools, tool.Path)
		}
	}
	isTool := func(match func(path string) bool) bool { return slices.ContainsFunc(tools, match) }
	for path := range names {
		if !isTool(func(tool string) bool { return tool == path }) {
			t.Errorf("there is a name for %s, which is no tool in go.mod", path)
		}
	}
	for _, s := range stamps {
		if !isTool(func(tool string) bool { return strings.HasPrefix(tool, s.module+"/") }) {
			t.Errorf("there is a stamp for %s, which has no tool in go.mod", s.module)
		}
	}
}
