package main

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestDefinitions(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"one/config/crd/bases/tickets.yaml", "two/config/crd/bases/tickets.yaml", "two/config/crd/bases/caches.yaml", "two/config/crd/broken.yaml"} {
		write(t, root, file, file)
	}
	var targets []*target
	for _, operator := range []string{"one", "none", "two"} {
		targets = append(targets, &target{root: root, operator: operator})
	}
	got, err := definitions(targets)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(root, "one", "config", "crd", "bases", "tickets.yaml"), filepath.Join(root, "two", "config", "crd", "bases", "caches.yaml")}
	if !slices.Equal(got, want) {
		t.Errorf("expected one file of each name, %q, got %q", want, got)
	}
}
