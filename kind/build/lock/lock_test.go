package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// acquired is the lock of a directory that nobody holds.
func acquired(t *testing.T, dir string) (work string, release func()) {
	t.Helper()
	work, release, err := Acquire(t.Context(), dir, func(holder string) { t.Errorf("%s holds the lock", holder) })
	if err != nil {
		t.Fatal(err)
	}
	return work, release
}

func TestSecondWaitsForTheFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	_, release := acquired(t, dir)

	waitsFor := make(chan string, 1)
	second := make(chan func(), 1)
	go func() {
		_, release, err := Acquire(t.Context(), dir, func(holder string) { waitsFor <- holder })
		if err != nil {
			t.Error(err)
		}
		second <- release
	}()
	if holder, want := <-waitsFor, fmt.Sprintf("process %d", os.Getpid()); holder != want {
		t.Errorf("the second waits for %s, expected %s", holder, want)
	}
	select {
	case <-second:
		t.Fatal("two hold the lock")
	default:
	}
	release()
	(<-second)()
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	_, release := acquired(t, dir)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, _, err := Acquire(ctx, dir, func(string) { cancel(cause) }); !errors.Is(err, cause) {
		t.Errorf("Acquire says %v, expected the cause of the context's end", err)
	}
	release()
	// The one that gave up must not keep the lock once it gets it.
	_, third, err := Acquire(t.Context(), dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	third()
}

func TestUnfinishedFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	leftover := filepath.Join(dir, "work", "go", "b001", "half.a")
	if err := os.MkdirAll(filepath.Dir(leftover), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(leftover, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	work, release := acquired(t, dir)
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("%s holds %v, %v, expected nothing of a process that was killed", work, left, err)
	}
	release()
	if _, err := os.Lstat(work); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the holder's own unfinished files are left")
	}
}

func TestLockFileWithoutAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, []byte("not a number\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if held := holder(f); held != "another process" {
		t.Errorf("the lock is held by %s, expected another process", held)
	}
}
