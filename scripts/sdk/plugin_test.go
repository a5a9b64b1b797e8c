package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The package comes from the module that go.mod requires.
func TestAddEventPlugin(t *testing.T) {
	programs := t.TempDir()
	if err := addEventPlugin(t.Context(), ".", programs); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"__init__.py", "events.py"} {
		info, err := os.Stat(filepath.Join(programs, "event-plugin", "ansible_runner_http", name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() == 0 || info.Mode().Perm()&0o444 != 0o444 {
			t.Errorf("%s has %d bytes and the mode %v: expected a file that every user can read", name, info.Size(), info.Mode())
		}
	}
	// With no go command on PATH, a second call would fail if it looked for the module.
	t.Setenv("PATH", "")
	if err := addEventPlugin(t.Context(), ".", programs); err != nil {
		t.Errorf("the package is there already: %v", err)
	}
}

func TestInstall(t *testing.T) {
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "events.py"), []byte("new"), 0o444); err != nil {
		t.Fatal(err)
	}
	t.Run("nothing is left of a failed copy", func(t *testing.T) {
		programs := t.TempDir()
		if err := install(filepath.Join(source, "missing"), filepath.Join(programs, "event-plugin")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, expected an error that says what does not exist", err)
		}
		if left, err := os.ReadDir(programs); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
	t.Run("what another process has installed stays", func(t *testing.T) {
		programs := t.TempDir()
		target := filepath.Join(programs, "event-plugin")
		for range 2 {
			if err := install(source, target); err != nil {
				t.Fatal(err)
			}
		}
		left, err := os.ReadDir(programs)
		if err != nil || len(left) != 1 {
			t.Errorf("left %v, %v: expected only event-plugin", left, err)
		}
		if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("got %v, %v: expected a directory that every user can read", info, err)
		}
	})
}
