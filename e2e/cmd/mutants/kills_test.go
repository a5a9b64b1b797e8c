package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/cache"
)

// write writes a file below root, for its owner alone.
func write(t *testing.T, root, file, text string) {
	t.Helper()
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// repository returns a directory with an operator, its suite with two mutants, and what runs them.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"go.mod", "go.sum", "e2e/suite.go", "kind/build/main.go", "kind/kubernetes/go.mod", "operator/main.go", "suite/suite_test.go", "README.md"} {
		write(t, root, file, file)
	}
	for _, name := range []string{"a", "b"} {
		write(t, root, "suite/mutants/"+name+".patch", "Fault: "+name+"\nTest: Test\nAssertion: expected\n\n--- a/main.go\n+++ b/main.go\n")
	}
	return root
}

// recalled returns how many of the two mutants of the repository are known to be killed.
func recalled(t *testing.T, root string, k *cache.Cache) int {
	t.Helper()
	target, err := newTarget(root, "operator=suite", false, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{kills: k}
	if err := r.recall(target); err != nil {
		t.Fatal(err)
	}
	if len(target.mutants) != 2-r.killed {
		t.Errorf("expected that what is not killed is left, got %d and %d", r.killed, len(target.mutants))
	}
	return r.killed
}

// remembered tries both mutants of the repository.
func remembered(t *testing.T, root string, k *cache.Cache, passed bool, meanwhile func()) {
	t.Helper()
	rememberedBy(t, &run{kills: k, healthy: true}, root, passed, meanwhile)
}

func rememberedBy(t *testing.T, r *run, root string, passed bool, meanwhile func()) {
	t.Helper()
	tried, err := newTarget(root, "operator=suite", false, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.recall(tried); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	tried.killed, tried.passed = tried.mutants, passed
	r.remember([]*target{tried})
}

func TestKillsAreRemembered(t *testing.T) {
	root, nothing := repository(t), func() {}
	k := killsIn(filepath.Join(t.TempDir(), "mutants"))
	expect := func(want int, what string) {
		t.Helper()
		if got := recalled(t, root, k); got != want {
			t.Errorf("%s: expected %d kills to be known, got %d", what, want, got)
		}
	}
	expect(0, "at first")
	remembered(t, root, k, false, nothing)
	expect(0, "after a run in which the healthy operator did not pass")
	remembered(t, root, k, true, func() { write(t, root, "operator/main.go", "changed meanwhile") })
	expect(0, "after a run in which the operator was changed")
	remembered(t, root, k, true, nothing)
	expect(2, "after a good run")
	write(t, root, "operator/main.go", "another operator")
	rememberedBy(t, &run{kills: k}, root, false, nothing)
	expect(2, "after a run of which the caller said that the tests had just passed")

	for _, file := range []string{"operator/main.go", "suite/suite_test.go", "e2e/suite.go", "go.sum", "kind/kubernetes/go.mod"} {
		before, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		write(t, root, file, "another")
		expect(0, "with another "+file)
		write(t, root, file, string(before))
	}
	write(t, root, "README.md", "another")
	write(t, root, "operator/bin/manager", "built")
	expect(2, "with what has no part in it")
	write(t, root, "suite/mutants/a.patch", "Fault: another\nTest: Test\nAssertion: expected\n\n--- a/main.go\n+++ b/main.go\n")
	expect(1, "with another patch")
}

// TestKillsAreForgotten damages what was remembered, and takes the directory away.
func TestKillsAreForgotten(t *testing.T) {
	directory := t.TempDir()
	k := killsIn(filepath.Join(directory, "mutants"))
	key := cache.ActionID{1}
	if err := k.PutBytes(key, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.GetBytes(key); err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(filepath.Join(directory, "mutants", "01", "*-a"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("the entries are %q, %v", entries, err)
	}
	if err := os.Truncate(entries[0], 10); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.GetBytes(key); err == nil {
		t.Error("expected that a damaged entry is not a kill")
	}
	write(t, directory, "file", "")
	if killsIn(filepath.Join(directory, "file")) != nil {
		t.Error("expected a file in place of the directory to remember nothing")
	}
}
