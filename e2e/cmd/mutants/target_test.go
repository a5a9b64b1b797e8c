package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestNewTarget(t *testing.T) {
	root := t.TempDir()
	directory := filepath.Join(root, "suite", "mutants")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]string{"a": "TestLast", "b": "TestFirst", "other": "TestOther", "c": "TestFirst"} {
		patch := "Fault: a fault\nTest: " + test + "\nAssertion: expected\n\n--- a/main.go\n+++ b/main.go\n"
		if err := os.WriteFile(filepath.Join(directory, name+".patch"), []byte(patch), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target, err := newTarget(root, "operator=suite", false, regexp.MustCompile("^.$"))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(target.mutants); got != 3 {
		t.Errorf("expected the three mutants of that name, got %d", got)
	}
	if got, want := target.judges(), "^(TestFirst|TestLast)$"; got != want {
		t.Errorf("expected each test that must catch one of them once, %s, got %s", want, got)
	}
	for _, pair := range []string{"operator", "=suite", "operator=", "operator=elsewhere"} {
		if _, err := newTarget(root, pair, false, regexp.MustCompile("")); err == nil || !strings.Contains(err.Error(), ": name two directories") && !strings.Contains(err.Error(), "there are no mutants") {
			t.Errorf("%s: expected an error that says what is missing, got %v", pair, err)
		}
	}
}
