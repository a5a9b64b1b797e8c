package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readOnly are paths that suites read an object from, and create it as its kind or in a namespace with no operator.
var readOnly = []string{"samples/cache_v1alpha1_memcached.yaml"}

// TestLoaded finds in the suites which paths of config they name. The grader has to load what they apply in the same way.
func TestLoaded(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*/test/e2e/*_test.go", "../e2e/memcached/*_test.go"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	named := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`"\.\./\.\./(?:operator/)?config/([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			path := strings.TrimSuffix(match[1], "/")
			named[path] = true
			if !slices.Contains(loaded, path) && !slices.Contains(readOnly, path) {
				t.Errorf("%s names config/%s, of which the grader looks at kinds alone: add it to loaded", file, path)
			}
		}
	}
	for _, path := range loaded {
		// local stands beside default, and policy and crd are for kustomizations of students.
		if !named[path] && !slices.Contains([]string{"local", "policy", "crd"}, path) {
			t.Errorf("no suite names config/%s", path)
		}
	}
}
