package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var alpha = Program{Name: "alpha", Key: "0123"}

const content = "#!/bin/sh\necho alpha\n"

// lock takes the right to write for the duration of a test.
func locked(t *testing.T, s Store) *Writer {
	t.Helper()
	w, err := s.Lock(t.Context(), func(int) { t.Error("the lock is held by somebody") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Unlock)
	return w
}

func add(t *testing.T, w *Writer, p Program) {
	t.Helper()
	executable := filepath.Join(w.Work(), p.Name)
	if err := os.WriteFile(executable, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(p, executable, []string{"a fact"}); err != nil {
		t.Fatal(err)
	}
}

// published is a store with one plan, "plan", of one program, alpha.
func published(t *testing.T) Store {
	t.Helper()
	s := At(filepath.Join(t.TempDir(), "kubernetes"))
	w := locked(t, s)
	add(t, w, alpha)
	if _, err := w.Publish("plan", []Program{alpha}); err != nil {
		t.Fatal(err)
	}
	w.Unlock()
	return s
}

func TestAddedProgramIsSound(t *testing.T) {
	s := At(t.TempDir())
	if err := s.Check(alpha); !errors.Is(err, ErrMissing) {
		t.Errorf("an empty store says %v, expected ErrMissing", err)
	}
	add(t, locked(t, s), alpha)
	if err := s.Check(alpha); err != nil {
		t.Error(err)
	}
	if err := s.Check(Program{Name: "alpha", Key: "4567"}); !errors.Is(err, ErrMissing) {
		t.Errorf("another key says %v, expected ErrMissing", err)
	}
}

func TestDamage(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(path string) error
		says   string
	}{
		"truncated":       {func(path string) error { return os.Truncate(path, 5) }, "it has 5 bytes instead of 21"},
		"emptied":         {func(path string) error { return os.Truncate(path, 0) }, "it has 0 bytes"},
		"removed":         {os.Remove, "the file is gone"},
		"not executable":  {func(path string) error { return os.Chmod(path, 0o644) }, "it is not executable"},
		"another content": {func(path string) error { return os.WriteFile(path, []byte(strings.ToUpper(content)), 0o755) }, "its content has changed"},
		"a folder":        {func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }, "it is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := published(t)
			if err := c.damage(s.programFile(alpha)); err != nil {
				t.Fatal(err)
			}
			err := s.Check(alpha)
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Check says %v, expected a *DamagedError: %s", err, c.says)
			}
			if _, err := s.Assets("plan"); !errors.Is(err, ErrIncomplete) {
				t.Errorf("Assets says %v, expected ErrIncomplete", err)
			}
		})
	}
}

func TestDamagedProgramIsReplaced(t *testing.T) {
	s := published(t)
	if err := os.Truncate(s.programFile(alpha), 5); err != nil {
		t.Fatal(err)
	}
	add(t, locked(t, s), alpha)
	if _, err := s.Assets("plan"); err != nil {
		t.Error(err)
	}
}

func TestDamagedRecordCountsAsMissing(t *testing.T) {
	s := published(t)
	if err := os.WriteFile(s.recordFile(alpha), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(alpha); !errors.Is(err, ErrMissing) {
		t.Errorf("Check says %v, expected ErrMissing", err)
	}
}

// A copied cache has other times.
func TestCopiedProgramIsSound(t *testing.T) {
	s := published(t)
	if err := os.Chtimes(s.programFile(alpha), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(alpha); err != nil {
		t.Error(err)
	}
	// Once is enough to have read it.
	if info, err := os.Stat(s.programFile(alpha)); err != nil || info.ModTime().Equal(time.Unix(1, 0)) {
		t.Errorf("the time is still the copy's: %v, %v", info.ModTime(), err)
	}
}

func TestAssetsFolderRunsTheProgram(t *testing.T) {
	s := published(t)
	dir, err := s.Assets("plan")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "alpha"))
	if err != nil || string(got) != content {
		t.Errorf("the link leads to %q and %v", got, err)
	}
}

func TestAssetsFolderSurvivesAMove(t *testing.T) {
	s := published(t)
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(s.Root(), moved); err != nil {
		t.Fatal(err)
	}
	dir, err := At(moved).Assets("plan")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "alpha")); err != nil {
		t.Error(err)
	}
}

func TestAssetsNeedsEveryLink(t *testing.T) {
	s := published(t)
	link := filepath.Join(s.assetsDir("plan"), "alpha")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Assets("plan"); !errors.Is(err, ErrIncomplete) {
		t.Errorf("without the link Assets says %v, expected ErrIncomplete", err)
	}
	// Something else in its place is replaced.
	if err := os.WriteFile(link, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := locked(t, s).Publish("plan", []Program{alpha}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Assets("plan"); err != nil {
		t.Error(err)
	}
}

func TestLookingWritesNothing(t *testing.T) {
	s := published(t)
	before := snapshot(t, s.Root())
	for _, plan := range []string{"plan", "another plan"} {
		_, _ = s.Assets(plan)
	}
	if after := snapshot(t, s.Root()); after != before {
		t.Errorf("the store was\n%s\nand is\n%s", before, after)
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	if _, err := At(nowhere).Assets("plan"); !errors.Is(err, ErrIncomplete) {
		t.Errorf("a store that does not exist says %v, expected ErrIncomplete", err)
	}
	if _, err := os.Lstat(nowhere); !errors.Is(err, fs.ErrNotExist) {
		t.Error("looking has made the store's folder")
	}
}

// snapshot lists a folder's files with sizes and times.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		b.WriteString(path + " " + fs.FormatFileInfo(info) + " " + info.ModTime().String() + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFullDiskLeavesNothingHalfWritten(t *testing.T) {
	s := At(t.TempDir())
	w := locked(t, s)
	w.create = func(path string) (file, error) {
		f, err := os.Create(path)
		return &fullDisk{f}, err
	}
	executable := filepath.Join(w.Work(), "alpha")
	if err := os.WriteFile(executable, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(alpha, executable, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Add says %v, expected that no space is left", err)
	}
	if err := s.Check(alpha); !errors.Is(err, ErrMissing) {
		t.Errorf("Check says %v, expected ErrMissing", err)
	}
	if _, err := w.Publish("plan", []Program{alpha}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Publish says %v, expected that no space is left", err)
	}
	if _, err := s.Assets("plan"); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Assets says %v, expected ErrIncomplete", err)
	}
	w.Unlock()
	if _, err := os.Lstat(w.Work()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the unfinished files are still there")
	}
}

// fullDisk takes half of what is written to it.
type fullDisk struct{ *os.File }

func (f *fullDisk) Write(p []byte) (int, error) {
	n, _ := f.File.Write(p[:len(p)/2])
	return n, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
}
