package executable_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/example/operator-testbed/e2e/executable"
)

// TestWrite executes what it has just written, while other goroutines start processes all the time. With os.WriteFile, a few of a thousand
// can't be executed.
func TestWrite(t *testing.T) {
	var (
		done   atomic.Bool
		others sync.WaitGroup
	)
	for range 4 {
		others.Go(func() {
			for !done.Load() {
				_ = exec.Command("true").Run()
			}
		})
	}
	directory := t.TempDir()
	for i := range 100 {
		path := filepath.Join(directory, strconv.Itoa(i))
		if err := executable.Write(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	others.Wait()
}
