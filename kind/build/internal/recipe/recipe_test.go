package recipe

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parse reads a GoMod as `go mod edit -json` prints it.
func parse(t *testing.T, output []byte) GoMod {
	t.Helper()
	var m GoMod
	if err := json.Unmarshal(output, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPrograms(t *testing.T) {
	m := parse(t, []byte(`{
		"Module": {"Path": "example.com/m"},
		"Require": [
			{"Path": "go.etcd.io/etcd/server/v3", "Version": "v3.7.0"},
			{"Path": "k8s.io/kube", "Version": "v0.1.0"},
			{"Path": "k8s.io/kubernetes", "Version": "v1.37.0"},
			{"Path": "k8s.io/kubernetes/cmd/other", "Version": "v0.2.0"},
			{"Path": "k8s.io", "Version": "v0.3.0"}
		],
		"Tool": [{"Path": "example.com/m/cmd/pause"}, {"Path": "go.etcd.io/etcd/server/v3"}, {"Path": "k8s.io/kubernetes/cmd/kubectl"}]
	}`))
	for name, c := range map[string]struct {
		wanted []string
		want   []string
		fails  string
	}{
		"all":       {nil, []string{"pause ", "etcd v3.7.0", "kubectl v1.37.0"}, ""},
		"some":      {[]string{"kubectl", "etcd"}, []string{"etcd v3.7.0", "kubectl v1.37.0"}, ""},
		"not there": {[]string{"etcd", "kubelet"}, nil, "no tool line of example.com/m names a program called kubelet"},
	} {
		t.Run(name, func(t *testing.T) {
			programs, err := m.Programs(c.wanted, Extra{})
			if (err != nil) != (c.fails != "") || err != nil && err.Error() != c.fails {
				t.Errorf("the error is %v, expected %q", err, c.fails)
			}
			var got []string
			for _, p := range programs {
				got = append(got, p.Name+" "+p.Version)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, expected %q", got, c.want)
			}
		})
	}
}

func TestLDFlagsOfKubernetes(t *testing.T) {
	for version, minor := range map[string]string{"v1.37.0": "37", "v1.38.0-rc.1": "38"} {
		flags := ldflags("k8s.io/kubernetes", version, nil)
		for _, want := range []string{
			"-s -w ",
			" -X k8s.io/component-base/version.gitVersion=" + version + " ",
			" -X k8s.io/component-base/version.gitMajor=1 ",
			" -X k8s.io/component-base/version.gitMinor=" + minor + " ",
			" -X k8s.io/component-base/version.gitTreeState=clean ",
			" -X k8s.io/client-go/pkg/version.gitVersion=" + version + " ",
		} {
			if !strings.Contains(flags+" ", want) {
				t.Errorf("the flags lack %q: %s", want, flags)
			}
		}
	}
}

func TestModuleWithoutStamps(t *testing.T) {
	if flags := ldflags("go.etcd.io/etcd/server/v3", "v3.7.0", nil); flags != "-s -w" {
		t.Errorf("got %q, expected -s -w", flags)
	}
}

func TestExtra(t *testing.T) {
	more := []Stamp{{"example.com/m", "example.com/m/version.Version", "{version}"}, {"example.com/other", "example.com/other.V", "1"}}
	if flags := ldflags("example.com/m", "v1.2.3", more); flags != "-s -w -X example.com/m/version.Version=v1.2.3" {
		t.Errorf("the linker's flags are %q", flags)
	}
	if flags := (Extra{Tags: []string{"a", "b"}}).Flags(); !slices.Equal(flags, append(slices.Clone(BuildFlags), "-tags=a,b")) {
		t.Errorf("the flags with tags are %q", flags)
	}
	if flags := (Extra{}).Flags(); !slices.Equal(flags, BuildFlags) {
		t.Errorf("the flags without tags are %q", flags)
	}
}

// The tables of names and stamps must be about tools that the modules beside
// this one have: after a bump that moves one, its program would lose its name or
// its version in silence.
func TestTablesFitTheModules(t *testing.T) {
	var tools []string
	for _, module := range []string{"kubernetes", "node", "node/local-path"} {
		cmd := exec.Command("go", "mod", "edit", "-json")
		cmd.Dir = "../../../" + module
		output, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		programs, err := parse(t, output).Programs(nil, Extra{})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]string{}
		for _, p := range programs {
			tools = append(tools, p.Package)
			if other := of[p.Name]; other != "" || regexp.MustCompile(`^v\d+$`).MatchString(p.Name) {
				t.Errorf("the tool %s of %s would be called %s, like %q: give it another name", p.Package, module, p.Name, other)
			}
			of[p.Name] = p.Package
		}
	}
	isTool := func(match func(path string) bool) bool { return slices.ContainsFunc(tools, match) }
	for path := range names {
		if !isTool(func(tool string) bool { return tool == path }) {
			t.Errorf("there is a name for %s, which is not a tool in go.mod", path)
		}
	}
	for _, s := range stamps {
		if !isTool(func(tool string) bool { return strings.HasPrefix(tool, s.Module+"/") }) {
			t.Errorf("there is a stamp for %s, which has no tool in go.mod", s.Module)
		}
	}
}
