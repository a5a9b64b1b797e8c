package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/mod/module"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/internal/moduleproxy"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestWithoutAClone checks an operator from another directory with `go run .../e2e/cmd/testbed@VERSION conformance`. The Go command gets
// the modules of this repository, as they are in the clone, from a proxy, and all others from its cache.
func TestWithoutAClone(t *testing.T) {
	tier.Nightly(t)
	g := NewWithT(t)
	b := newBed(t)
	program, err := operator.Build(t.Context(), b.root, operator.Finished)
	g.Expect(err).NotTo(HaveOccurred())

	// What is committed, without what is compiled in the clone.
	source, proxy := t.TempDir(), t.TempDir()
	files := strings.Split(strings.TrimSuffix(b.output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00")
	g.Expect(moduleproxy.CopyFiles(source, b.root, files)).To(Succeed())
	const path, version = "github.com/example/operator-testbed", "v0.0.1"
	for _, nested := range []string{"", "/kind/build", "/kind/kubernetes", "/kind/kubernetes/previous"} {
		g.Expect(moduleproxy.Add(proxy, module.Version{Path: path + nested, Version: version}, filepath.Join(source, filepath.FromSlash(nested)))).To(Succeed())
	}
	downloads := strings.TrimSpace(b.output("go", "env", "GOMODCACHE")) + "/cache/download"

	work := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/author\n",
		"conformance.yaml": `executable: ` + program.Binary + `
manifests: ` + filepath.Join(b.root, "operator", "config", "default") + `
samples:
- file: sample.yaml
  companions: [settings.yaml]
known:
- point: a restart writes nothing
  reason: this is in case it is slow
  intermittent: true
`,
		"sample.yaml":   "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nspec: {size: 1}\n",
		"settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
	} {
		g.Expect(os.WriteFile(filepath.Join(work, name), []byte(content), 0o600)).To(Succeed())
	}
	command := b.command("go", "run", path+"/e2e/cmd/testbed@"+version, "conformance", "--report=report.jsonl")
	command.Dir = work
	command.Env = append(command.Env, "GOPROXY=file://"+proxy+",file://"+downloads+",https://proxy.golang.org", "GOSUMDB=off",
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw -trimpath -buildvcs=false -gcflags=all=-dwarf=false", "GOWORK=off", "TESTBED_GOFLAGS=-modcacherw",
		"TESTBED_CACHE="+withPrograms(t))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", out, &stderr)
	g.Expect(string(out)).To(MatchRegexp(`(?m)^10\s+holds\s+a deletion in the background leaves nothing$`))
	g.Expect(filepath.Join(work, "report.jsonl")).To(BeAnExistingFile())
}

// withPrograms returns a cache that has nothing but the programs of clusters.
func withPrograms(t *testing.T) string {
	t.Helper()
	shared, err := home.Cache()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	for _, name := range []string{"kubernetes", "stores"} {
		if err := os.Symlink(filepath.Join(shared, name), filepath.Join(cache, name)); err != nil {
			t.Fatal(err)
		}
	}
	return cache
}
