package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	someCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: NAMEs.test.example.com
`
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: passed-over\n"
)

// directory makes a directory of files.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func named(name string) string { return strings.ReplaceAll(someCRD, "NAME", name) }

func TestReadCRDs(t *testing.T) {
	t.Parallel()
	dir := directory(t, map[string]string{
		"a.yaml":        named("a") + "---\n" + configMap + "---\n" + named("b"),
		"c.yml":         "# only a comment\n---\n" + named("c"),
		"kustomization": "resources: [a.yaml]",
		"README.md":     named("readme"),
		"deep/d.yaml":   named("d"),
	})
	crds, err := readCRDs([]string{dir, filepath.Join(dir, "deep", "d.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, crd := range crds {
		names = append(names, crd.Name)
	}
	const want = "as.test.example.com bs.test.example.com cs.test.example.com ds.test.example.com"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("expected %s, got %s", want, got)
	}
}

func TestReadCRDsNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, content, want string
	}{
		{"no YAML", "crd.yaml", "kind: [", "crd.yaml: "},
		{"no CRD", "crd.yaml", configMap, "there is none in "},
		{"no such file", "other.yaml", named("a"), "no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := directory(t, map[string]string{test.file: test.content})
			_, err := readCRDs([]string{filepath.Join(dir, "crd.yaml")})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("expected one line with %s, got %v", test.want, err)
			}
		})
	}
}
