package recipe

import (
	"slices"
	"strings"
	"testing"
)

func TestParsePackages(t *testing.T) {
	packages, err := ParsePackages([]byte(`{"ImportPath": "a", "Name": "main", "Imports": ["b"]}
{"ImportPath": "b", "DepOnly": true}`))
	if err != nil || len(packages) != 2 || packages["a"].Name != "main" || !packages["b"].DepOnly {
		t.Errorf("got %v and %v", packages, err)
	}
}

func TestParsePackagesRefusesABrokenPackage(t *testing.T) {
	_, err := ParsePackages([]byte(`{"ImportPath": "a", "Error": {"Err": "no required module provides package b"}}`))
	if err == nil || !strings.Contains(err.Error(), "no required module provides package b") {
		t.Errorf("got %v, expected go list's own reason", err)
	}
}

func TestClosureFollowsImportsOnce(t *testing.T) {
	var paths []string
	for _, p := range world().Closure("k8s.io/kubernetes/cmd/kubectl") {
		paths = append(paths, p.ImportPath)
	}
	slices.Sort(paths)
	want := []string{"example.com/library", "k8s.io/kubernetes/cmd/kubectl", "k8s.io/shared", "vendor/golang.org/x/std"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, expected %q", paths, want)
	}
}
