package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const content = "#!/bin/sh\necho alpha\n"

// add puts alpha into a store.
func add(t *testing.T, s Store) {
	t.Helper()
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "alpha"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(work, "alpha", "https://example.com/alpha", []string{"a fact"}); err != nil {
		t.Fatal(err)
	}
}

// withAlpha is a store that holds alpha.
func withAlpha(t *testing.T) Store {
	t.Helper()
	s := Store(filepath.Join(t.TempDir(), "key"))
	add(t, s)
	return s
}

func TestAddedProgramIsSound(t *testing.T) {
	s := Store(filepath.Join(t.TempDir(), "key"))
	if err := s.Check("alpha"); !errors.Is(err, ErrMissing) {
		t.Errorf("an empty store says %v, expected ErrMissing", err)
	}
	add(t, s)
	if err := s.Check("alpha"); err != nil {
		t.Error(err)
	}
	if err := s.Check("beta"); !errors.Is(err, ErrMissing) {
		t.Errorf("another program says %v, expected ErrMissing", err)
	}
	if data, err := os.ReadFile(s.recordOf("alpha")); err != nil || !strings.Contains(string(data), "a fact") {
		t.Errorf("the record is %s and %v, expected what the program was built from", data, err)
	}
}

func TestDamageIsFoundAndRepaired(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(path string) error
		says   string
	}{
		"truncated":       {func(path string) error { return os.Truncate(path, 5) }, "alpha in the cache is damaged (it has 5 bytes instead of 21)"},
		"emptied":         {func(path string) error { return os.Truncate(path, 0) }, "it has 0 bytes"},
		"not executable":  {func(path string) error { return os.Chmod(path, 0o644) }, "it is not executable"},
		"another content": {func(path string) error { return os.WriteFile(path, []byte(strings.ToUpper(content)), 0o755) }, "its content has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withAlpha(t)
			if err := c.damage(s.file("alpha")); err != nil {
				t.Fatal(err)
			}
			if err := s.Check("alpha"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Check says %v, expected an ErrDamaged: %s", err, c.says)
			}
			add(t, s)
			if err := s.Check("alpha"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHalfOfAProgramCountsAsMissing(t *testing.T) {
	for name, damage := range map[string]func(Store) error{
		"no program":       func(s Store) error { return os.Remove(s.file("alpha")) },
		"no record":        func(s Store) error { return os.Remove(s.recordOf("alpha")) },
		"a damaged record": func(s Store) error { return os.WriteFile(s.recordOf("alpha"), []byte("{"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			s := withAlpha(t)
			if err := damage(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Check("alpha"); !errors.Is(err, ErrMissing) {
				t.Errorf("Check says %v, expected ErrMissing", err)
			}
		})
	}
}

// A copied cache has other times.
func TestCopiedProgramIsSound(t *testing.T) {
	s := withAlpha(t)
	if err := os.Chtimes(s.file("alpha"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Check("alpha"); err != nil {
		t.Error(err)
	}
	// Once is enough to have read it.
	if info, err := os.Stat(s.file("alpha")); err != nil || info.ModTime().Equal(time.Unix(1, 0)) {
		t.Errorf("the time is still the copy's: %v, %v", info.ModTime(), err)
	}
}

func TestFailedAddLeavesNothingHalfWritten(t *testing.T) {
	s, work := Store(filepath.Join(t.TempDir(), "key")), t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "alpha"), []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	// The record can't be written.
	if err := os.Mkdir(filepath.Join(work, "alpha.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(work, "alpha", "", nil); err == nil {
		t.Error("Add does not fail")
	}
	if left, err := os.ReadDir(string(s)); err != nil || len(left) > 0 {
		t.Errorf("the store holds %v, %v, expected nothing", left, err)
	}
}

func TestCheckWritesNothing(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	if err := Store(nowhere).Check("alpha"); !errors.Is(err, ErrMissing) {
		t.Errorf("a store that does not exist says %v, expected ErrMissing", err)
	}
	if _, err := os.Lstat(nowhere); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Check has made the store's directory")
	}
}

func TestLink(t *testing.T) {
	s, dir := withAlpha(t), t.TempDir()
	if s.Has("beta") || !s.Has("alpha") {
		t.Error("Has does not say what is there")
	}
	origin, err := s.Link("alpha", dir)
	if err != nil || origin != "https://example.com/alpha" {
		t.Errorf("the origin is %q, %v", origin, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "alpha")); err != nil || string(data) != content {
		t.Errorf("the link is %q, %v", data, err)
	}
	// Where the file system has no links.
	copied := filepath.Join(dir, "copied")
	if err := copyFile(s.file("alpha"), copied); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the copy is %v, %v", info, err)
	}
	if _, err := s.Link("beta", dir); err == nil {
		t.Error("a program that is not there is linked")
	}
}
