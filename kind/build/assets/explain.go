package assets

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"syscall"

	"github.com/example/operator-testbed/kind/build/internal/gocmd"
)

// What the go command and the programs it runs say when the cause is one that
// the user can mend. It has no other way to tell.
var (
	saysDiskFull    = regexp.MustCompile(`no space left on device|disk quota exceeded`)
	saysUnreachable = regexp.MustCompile(`dial tcp|no such host|connection refused|i/o timeout|TLS handshake timeout|proxyconnect|network is unreachable|module lookup disabled by GOPROXY=off`)
	saysKilled      = regexp.MustCompile(`signal: killed`)
)

// explain turns an error into a sentence that says what to do, where that is
// known.
func explain(err error, at places) error {
	said := ""
	if failed, ok := errors.AsType[*gocmd.Error](err); ok {
		said = failed.Text()
	}
	_, isPath := errors.AsType[*fs.PathError](err)
	_, isReadOnly := errors.AsType[*readOnlyError](err)
	switch {
	case err == nil, isReadOnly:
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), saysDiskFull.MatchString(said):
		return &diskFullError{at: at, err: err}
	case saysUnreachable.MatchString(said):
		return fmt.Errorf("modules can't be downloaded: connect this machine to %s, or set GOPROXY to a module proxy that it reaches; %w", at.proxy, err)
	case saysKilled.MatchString(said):
		return fmt.Errorf("a compiler was killed, which mostly means that memory ran out: close other programs, or set GOMAXPROCS=1 to compile one package at a time; %w", err)
	case isPath:
		return fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another folder", at.store, err)
	}
	return err
}

// readOnlyError says that something is missing from a cache that is somebody
// else's.
type readOnlyError struct {
	root       string
	incomplete error
	command    string
	err        error
}

// Error is one sentence.
func (e *readOnlyError) Error() string {
	return fmt.Sprintf("the cache %s can't be written, and %v: ask whoever keeps it to run `%s` with the same Go, or set TESTBED_CACHE to a folder of your own", e.root, e.incomplete, e.command)
}

// Unwrap gives access to what failed.
func (e *readOnlyError) Unwrap() error { return e.err }

// isReadOnly says whether an error means that a folder can't be written by us.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
