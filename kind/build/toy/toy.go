// Package toy holds what tests build instead of Kubernetes: a few tiny modules
// on a module proxy in a folder, a module whose tool lines name their programs,
// and a stand-in for the go command that fails in ways the real one rarely does.
package toy

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The toy programs. Both import example.com/shared.
const (
	Alpha = "example.com/alpha/cmd/alpha"
	Beta  = "example.com/beta/v2"
)

// modules are the files of each module, by name. VERSION stands for the module's
// version, NONCE for something that no build cache has seen.
var modules = map[string]map[string]string{
	"example.com/alpha": {
		"go.mod":            "module example.com/alpha\n\ngo 1.26\n\nrequire example.com/shared v1.0.0\n",
		"cmd/alpha/main.go": "package main\n\nimport \"example.com/shared\"\n\nfunc main() { shared.Say(\"alpha VERSION\") }\n",
	},
	"example.com/beta/v2": {
		"go.mod":  "module example.com/beta/v2\n\ngo 1.26\n\nrequire example.com/shared v1.0.0\n",
		"main.go": "package main\n\nimport \"example.com/shared\"\n\nfunc main() { shared.Say(\"beta VERSION\") }\n",
	},
	"example.com/shared": {
		"go.mod":    "module example.com/shared\n\ngo 1.26\n",
		"shared.go": "package shared\n\nimport \"os\"\n\nconst Nonce = \"NONCE\"\n\nfunc Say(s string) { os.Stdout.WriteString(s + \"\\n\") }\n",
	},
}

// versions that the proxy has.
var versions = map[string][]string{
	"example.com/alpha":   {"v1.0.0", "v1.1.0"},
	"example.com/beta/v2": {"v2.0.0"},
	"example.com/shared":  {"v1.0.0"},
}

// Proxy points the go command, for the duration of a test, at a module proxy
// that has the toy modules only, and at an empty module cache.
func Proxy(t *testing.T) {
	t.Helper()
	proxy := t.TempDir()
	for module, files := range modules {
		dir := filepath.Join(proxy, module, "@v")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, version := range versions[module] {
			base := filepath.Join(dir, version)
			write(t, base+".info", fmt.Sprintf(`{"Version": %q}`, version))
			write(t, base+".mod", files["go.mod"])
			archive(t, base+".zip", module+"@"+version+"/", version, files)
		}
	}
	cache := t.TempDir()
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOMODCACHE", cache)
	t.Cleanup(func() {
		// The go command makes its module cache read-only.
		if out, err := exec.Command("go", "clean", "-modcache").CombinedOutput(); err != nil {
			t.Errorf("go clean -modcache: %v\n%s", err, out)
		}
	})
}

// Module makes a module with tool lines for programs, each an import path with a
// version of its module: "example.com/alpha/cmd/alpha@v1.0.0". It needs Proxy.
func Module(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/toy\n\ngo 1.26.0\n")
	for _, program := range programs {
		Get(t, dir, program)
	}
	return dir
}

// Get adds a tool line to a module, or changes the version of one.
func Get(t *testing.T, dir, program string) {
	t.Helper()
	cmd := exec.Command("go", "get", "-tool", program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go get -tool %s: %v\n%s", program, err, out)
	}
}

func archive(t *testing.T, path, prefix, version string, files map[string]string) {
	t.Helper()
	fill := strings.NewReplacer("VERSION", version, "NONCE", path)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, content := range files {
		w, err := z.Create(prefix + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(fill.Replace(content))); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
