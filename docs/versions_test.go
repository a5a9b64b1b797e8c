package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// TestVersionsAreThoseOfKubernetes compares go.mod with kind/kubernetes/go.mod. Kubernetes is compiled from a module of its own. A
// package that both modules import is compiled only once if its version, and the version of everything that it imports, is the same
// in both: a newer logr is enough to compile client-go again, for minutes.
func TestVersionsAreThoseOfKubernetes(t *testing.T) {
	kubernetes := map[string]string{}
	for _, require := range requirements(t, "../kind/kubernetes/go.mod") {
		kubernetes[require.Mod.Path] = require.Mod.Version
	}
	shared := 0
	for _, require := range requirements(t, "../go.mod") {
		path, version := require.Mod.Path, require.Mod.Version
		want, both := kubernetes[path]
		if !both || want == "v0.0.0" { // Kubernetes' own, which a replace line gives its version
			continue
		}
		shared++
		if version != want {
			t.Errorf("go.mod requires %s %s, and kind/kubernetes/go.mod %s: give both the same version, or what they share of Kubernetes is compiled twice", path, version, want)
		}
	}
	if shared < 50 {
		t.Errorf("go.mod and kind/kubernetes/go.mod share %d modules, expected most of Kubernetes' libraries", shared)
	}
}

// previousKubernetes has the version before, which clusters run on request.
const previousKubernetes = "kind/kubernetes/previous/go.mod"

// TestPreviousVersion compares the version before with the places that name it. A test of kind/kubernetes compares it with the current one.
func TestPreviousVersion(t *testing.T) {
	required := deliberate(t, previousKubernetes)
	if len(required) != 1 || required[0].Path != "k8s.io/kubernetes" {
		t.Fatalf("%s requires %v, expected Kubernetes", previousKubernetes, required)
	}
	version := required[0].Version
	if want := fmt.Sprintf("const PreviousVersion = %q\n", version); !strings.Contains(read(t, "e2e/cluster/embedded/provider.go"), want) {
		t.Errorf("%s requires %s, but e2e/cluster/embedded/provider.go has no %s", previousKubernetes, version, want)
	}
	for _, file := range []string{"Makefile", settingsPage, "docs/reference/conformance.md"} {
		if want := "KUBERNETES=" + semver.MajorMinor(version); !strings.Contains(read(t, file), want) {
			t.Errorf("%s does not name %s, which is the version before", file, want)
		}
	}
}

// TestGoRunAcceptsTheModule keeps directives out of the root's go.mod with which `go run MODULE/e2e/cmd/testbed@VERSION` refuses it. If a
// library requires another version of a module than Kubernetes, use an older one of the library: gomega v1.43.1 requires
// go.yaml.in/yaml/v3 v3.0.5, for example, and Kubernetes v1.37.0 is built with v3.0.4.
func TestGoRunAcceptsTheModule(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Exclude)+len(file.Replace) > 0 {
		t.Errorf("go.mod has %d exclude and %d replace directives: remove them, or the testbed can't be run without a clone", len(file.Exclude), len(file.Replace))
	}
}

// requirements returns what a go.mod requires.
func requirements(t *testing.T, path string) []*modfile.Require {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.ParseLax(path, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Require
}
