package gorun

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	xmodule "golang.org/x/mod/module"

	"github.com/example/operator-testbed/e2e/internal/moduleproxy"
)

// offered makes a proxy offer this module and those inside it, with next to nothing in them, and keeps Go away from everything else.
func offered(t *testing.T, versions map[string]string, queries ...string) {
	t.Helper()
	source, proxy := t.TempDir(), t.TempDir()
	write := func(file, content string) {
		t.Helper()
		path := filepath.Join(source, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module "+module+"\n")
	write("e2e/doc.go", "package e2e\n")
	write("kind/doc.go", "package kind\n")
	write("kind/build/go.mod", "module "+module+"/kind/build\n")
	write("kind/build/build.go", "package build\n\nconst Name = \"built\"\n")
	write("kind/kubernetes/go.mod", fmt.Sprintf("module %[1]s/kind/kubernetes\n\nrequire %[1]s/kind/build v0.0.0\n\nreplace %[1]s/kind/build => ../build\n", module))
	write("kind/kubernetes/previous/go.mod", "module "+module+"/kind/kubernetes/previous\n")
	write("kind/kubernetes/main.go", "package main\n\nimport \""+module+"/kind/build\"\n\nfunc main() { println(build.Name) }\n")
	for path, version := range versions {
		if err := moduleproxy.Add(proxy, xmodule.Version{Path: strings.TrimSuffix(module+"/"+path, "/"), Version: version}, filepath.Join(source, path), queries...); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"GOPROXY": "file://" + proxy, "GOSUMDB": "off", "GOMODCACHE": t.TempDir(), "GOFLAGS": "-modcacherw", "GOWORK": "off",
		"TESTBED_CACHE": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
}

// What is assembled is like a clone: the modules inside it are at their places, so a relative replace directive leads from one to
// the other.
func TestAssemble(t *testing.T) {
	const commit = "0123456789ab"
	const pseudo = "v0.5.1-0.20260102030405-" + commit
	for name, test := range map[string]struct {
		version  string
		versions map[string]string
	}{
		"tags": {"v0.5.0", map[string]string{"": "v0.5.0", "kind/build": "v0.5.0", "kind/kubernetes": "v0.5.0", "kind/kubernetes/previous": "v0.5.0"}},
		"a commit": {pseudo, map[string]string{
			"": pseudo, "kind/build": "v0.0.0-20260102030405-" + commit, "kind/kubernetes": "v0.4.1-0.20260102030405-" + commit,
			"kind/kubernetes/previous": "v0.0.0-20260102030405-" + commit,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			offered(t, test.versions, commit)
			root, err := assemble(t.Context(), test.version)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(filepath.Base(root), test.version+"-") {
				t.Errorf("got %s, expected the version in its name", root)
			}
			for _, file := range []string{"go.mod", "e2e/doc.go", "kind/doc.go", "kind/kubernetes/previous/go.mod"} {
				if _, err := os.Stat(filepath.Join(root, file)); err != nil {
					t.Error(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, "kind", "kubernetes"), "run", ".").CombinedOutput()
			if err != nil || string(out) != "built\n" {
				t.Errorf("got %s, %v", out, err)
			}
			t.Setenv("GOPROXY", "off") // what is in the module cache is enough
			if again, err := assemble(t.Context(), test.version); err != nil || again != root {
				t.Errorf("the second time, got %s, %v, expected %s", again, err, root)
			}
			if entries, err := os.ReadDir(filepath.Dir(root)); err != nil || len(entries) != 1 {
				t.Errorf("got %v, %v, expected nothing else", entries, err)
			}
		})
	}
}

// A module that requires the testbed without a replace directive needs no clone.
func TestRootOfADependency(t *testing.T) {
	offered(t, map[string]string{"": "v0.5.0", "kind/build": "v0.5.0", "kind/kubernetes": "v0.5.0", "kind/kubernetes/previous": "v0.5.0"})
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", []byte("module example.com/own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "get", module+"@v0.5.0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	root, err := Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "kind", "kubernetes", "go.mod")); err != nil {
		t.Error(err)
	}
}

func TestAssembleNamesWhatIsMissing(t *testing.T) {
	offered(t, map[string]string{"": "v0.5.0", "kind/build": "v0.5.0"})
	_, err := assemble(t.Context(), "v0.5.0")
	if err == nil || !strings.HasPrefix(err.Error(), "make a copy of "+module+"@v0.5.0: ") || !strings.Contains(err.Error(), "kind/kubernetes") {
		t.Errorf("got %v", err)
	}
}

func TestInstalled(t *testing.T) {
	for name, test := range map[string]struct {
		main debug.Module
		want string
	}{
		"downloaded":       {debug.Module{Path: module, Version: "v0.5.0", Sum: "h1:abc="}, "v0.5.0"},
		"in a clone":       {debug.Module{Path: module, Version: "v0.5.1-0.20260102030405-0123456789ab+dirty"}, ""},
		"of another suite": {debug.Module{Path: "example.com/own", Version: "v1.0.0", Sum: "h1:abc="}, ""},
	} {
		if got := installed(&debug.BuildInfo{Main: test.main}); got != test.want {
			t.Errorf("%s: got %q, expected %q", name, got, test.want)
		}
	}
}
