package assets

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"

	"github.com/example/operator-testbed/kind/build/internal/download"
	"github.com/example/operator-testbed/kind/build/internal/store"
	"github.com/example/operator-testbed/kind/build/program"
)

// StoppedError reports that the build was called off.
type StoppedError struct {
	// Cause is why.
	Cause error
	// Built of Programs are in the cache. Programs is 0 if it was stopped
	// before their number was known.
	Built, Programs int
}

// Error is one sentence that says what is kept.
func (e *StoppedError) Error() string {
	if e.Programs == 0 {
		return fmt.Sprintf("stopped (%v): nothing is lost, the same command goes on from here", e.Cause)
	}
	return fmt.Sprintf("stopped (%v): %d of %d programs are ready, and what is compiled is kept; the same command goes on from here", e.Cause, e.Built, e.Programs)
}

// Unwrap gives access to the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// These match what the go command and the programs it runs print when the user can
// do something about the cause. They report it in no other way.
var (
	saysDiskFull    = regexp.MustCompile(`no space left on device|disk quota exceeded`)
	saysUnreachable = regexp.MustCompile(`dial tcp|no such host|connection refused|i/o timeout|TLS handshake timeout|proxyconnect|network is unreachable|module lookup disabled by GOPROXY=off`)
	saysKilled      = regexp.MustCompile(`signal: killed`)
)

// explain turns an error into a sentence that says what to do, where that is
// known.
func (b *build) explain(err error) error {
	said := ""
	if failed, ok := errors.AsType[*program.Error](err); ok {
		said = failed.Messages
	}
	_, isPath := errors.AsType[*fs.PathError](err)
	wrong, isWrong := errors.AsType[*download.SumError](err)
	switch {
	case err == nil, errors.Is(err, store.ErrMissing), errors.Is(err, store.ErrDamaged):
		return err
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("there is no go command on PATH: install Go from https://go.dev/dl")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), saysDiskFull.MatchString(said):
		return b.diskFull()
	case isWrong:
		return fmt.Errorf("%w: it is not used; try another network or mirror, or set TESTBED_DOWNLOAD=no to compile everything", wrong)
	case saysUnreachable.MatchString(said):
		return fmt.Errorf("modules can't be downloaded: connect this machine to %s, or set GOPROXY to a module proxy that it reaches; %w", b.settings["GOPROXY"], err)
	case saysKilled.MatchString(said):
		return fmt.Errorf("a compiler was killed, probably because memory ran out: close other programs, or set GOMAXPROCS=1 to compile one package at a time; %w", err)
	case isPath:
		return fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another directory", b.root, err)
	}
	return err
}

// reserve is the free space, in bytes, below which a build is stopped.
const reserve = 100e6

// diskFull names all places that a build fills, with what a build from scratch was
// measured to need there and the setting that moves it.
func (b *build) diskFull() error {
	buildCache, moduleCache := b.settings["GOCACHE"], b.settings["GOMODCACHE"]
	fullest := slices.MinFunc([]string{b.root, buildCache, moduleCache}, func(x, y string) int {
		return cmp.Compare(b.options.free(x), b.options.free(y))
	})
	return fmt.Errorf("the disk of %s is full (%d MB free): a build from scratch needs about 0.5 GB in %s (TESTBED_CACHE moves it), 4 GB in %s (GOCACHE moves it), 1 GB in %s (GOMODCACHE moves it); free some space or move one, and run the same command again, which keeps what is built",
		fullest, b.options.free(fullest)/1e6, b.root, buildCache, moduleCache)
}

// freeBytes is the space that is left for files in a directory, which need not
// exist yet, or a very large number when nobody knows.
func freeBytes(path string) uint64 {
	var disk syscall.Statfs_t
	err := syscall.Statfs(path, &disk)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		return freeBytes(parent)
	}
	if err != nil {
		return 1 << 62
	}
	return disk.Bavail * uint64(disk.Bsize)
}
