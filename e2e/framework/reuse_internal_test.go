package framework

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kept lets the Go command seem to keep the result of this process, and returns the file in which it would find what was read.
func kept(t *testing.T) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "testlog.txt")
	if err := os.WriteFile(log, []byte("# test log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := flag.Lookup("test.testlogfile").Value.String()
	if err := flag.Set("test.testlogfile", log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set("test.testlogfile", before); err != nil {
			t.Error(err)
		}
	})
	for _, name := range chosen {
		t.Setenv(name, "")
	}
	t.Setenv("CLUSTER", "embedded")
	return log
}

// operatorSuite is the suite of this repository's operator.
func operatorSuite() *Suite {
	return New(Options{
		Name: "memcached", CRDs: []string{"../../operator/config/crd/bases"}, Package: "../../operator/cmd",
		Kustomization: "../../operator/config/default", Sample: "../../operator/config/samples", Inputs: []string{"manifest/testdata"},
	})
}

func (s *Suite) add(t *testing.T) {
	t.Helper()
	if err := s.addFiles(); err != nil {
		t.Fatal(err)
	}
	if err := s.addProgram(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestInputs lists what the result of a suite depends on.
func TestInputs(t *testing.T) {
	kept(t)
	s := operatorSuite()
	s.add(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range s.inputs.Paths() {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
		for _, never := range []string{"mutants", "_test.go", "README.md", ".."} {
			if strings.Contains(name, never) && !strings.HasPrefix(name, "kind/") && !strings.HasPrefix(name, "e2e/framework/manifest/testdata") {
				t.Errorf("expected no result to depend on %s", name)
			}
		}
	}
	for _, want := range []string{
		"go.mod", "go.sum", "operator/cmd/main.go", "operator/internal/controller", "operator/internal/controller/status.go",
		"operator/api/v1alpha1/memcached_types.go", "operator/config/rbac/role.yaml", "operator/config/crd/bases/cache.example.com_memcacheds.yaml",
		"operator/config/samples", "e2e/framework/manifest/testdata", "kind/kubernetes/go.mod", "kind/kubernetes/go.sum", "kind/build/assets/assets.go",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("expected the result to depend on %s, it depends on %q", want, got)
		}
	}
}

// TestReusable has results that may be reused, and others.
func TestReusable(t *testing.T) {
	for name, tc := range map[string]struct {
		env    map[string]string
		change func(*Suite)
		want   bool
	}{
		"on an embedded cluster": {want: true},
		"without a report":       {change: func(s *Suite) { s.reports = &reporter{} }, want: true},
		"on a kind cluster":      {env: map[string]string{"CLUSTER": "kind"}},
		"an executable":          {env: map[string]string{operatorVariable: "/operator"}},
		"a copy of manifests":    {env: map[string]string{"MANIFESTS": "/config"}},
		"a report":               {change: func(s *Suite) { s.reports = &reporter{path: "/report"} }},
		"a cluster that stays":   {env: map[string]string{sharedVariable: "stay"}},
		"other executables":      {env: map[string]string{"TESTBED_ASSETS": "/assets"}},
		"another module":         {change: func(s *Suite) { s.pinned = false }},
	} {
		t.Run(name, func(t *testing.T) {
			log := kept(t)
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			s := operatorSuite()
			s.add(t)
			if tc.change != nil {
				tc.change(s)
			}
			if err := s.discardUnlessReusable(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(log); (err == nil) != tc.want {
				t.Errorf("expected that the result is reused: %t, got %v", tc.want, err)
			}
		})
	}
}
