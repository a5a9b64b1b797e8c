package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSecondWriterWaitsForTheFirst(t *testing.T) {
	s := At(t.TempDir())
	first := locked(t, s)

	waitsFor := make(chan int, 1)
	second := make(chan *Writer, 1)
	go func() {
		w, err := s.Lock(t.Context(), func(pid int) { waitsFor <- pid })
		if err != nil {
			t.Error(err)
		}
		second <- w
	}()
	if pid := <-waitsFor; pid != os.Getpid() {
		t.Errorf("the second waits for process %d, expected %d", pid, os.Getpid())
	}
	select {
	case <-second:
		t.Fatal("two hold the lock")
	default:
	}
	first.Unlock()
	(<-second).Unlock()
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	s := At(t.TempDir())
	first := locked(t, s)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := s.Lock(ctx, func(int) { cancel(cause) }); !errors.Is(err, cause) {
		t.Errorf("Lock says %v, expected the cause of the context's end", err)
	}
	first.Unlock()
	// The one that gave up must not keep the lock once it gets it.
	third, err := s.Lock(t.Context(), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	third.Unlock()
}

func TestLockRemovesWhatAKilledBuildLeft(t *testing.T) {
	s := At(t.TempDir())
	leftover := filepath.Join(s.Root(), "work", "go", "b001", "half.a")
	if err := os.MkdirAll(filepath.Dir(leftover), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(leftover, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	locked(t, s)
	if _, err := os.Lstat(leftover); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the leftover is still there")
	}
}
