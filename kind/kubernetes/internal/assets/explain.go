package assets

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/example/operator-testbed/kind/kubernetes/internal/gocmd"
)

// command is how a user runs this build.
const command = "go -C kind/kubernetes run ."

// places are the folders that a build writes to.
type places struct {
	store, buildCache, moduleCache string
	proxy                          string
}

func (b *build) places() places {
	return places{
		store:       b.store.Root(),
		buildCache:  b.settings.BuildCache,
		moduleCache: b.settings.ModuleCache,
		proxy:       b.settings.Proxy,
	}
}

// What a build from nothing was measured to need, in rounded gigabytes.
const (
	storeNeeds       = "0.5 GB"
	buildCacheNeeds  = "4 GB"
	moduleCacheNeeds = "1 GB"
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
	var failed *gocmd.Error
	said := ""
	if errors.As(err, &failed) {
		said = failed.Text()
	}
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), saysDiskFull.MatchString(said):
		return &diskFullError{at: at, err: err}
	case saysUnreachable.MatchString(said):
		return fmt.Errorf("modules can't be downloaded: connect this machine to %s, or set GOPROXY to a module proxy that it reaches; %w", at.proxy, err)
	case saysKilled.MatchString(said):
		return fmt.Errorf("a compiler was killed, which mostly means that memory ran out: close other programs, or set GOMAXPROCS=1 to compile one package at a time; %w", err)
	case errors.As(err, &path):
		return fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another folder", at.store, err)
	}
	return err
}

// diskFullError says that a build ran out of space.
type diskFullError struct {
	at  places
	err error
}

// Error names all places that a build fills, each with the setting that moves
// it, the fullest first.
func (e *diskFullError) Error() string {
	type place struct{ path, needs, setting string }
	all := []place{
		{e.at.store, storeNeeds, "TESTBED_CACHE"},
		{e.at.buildCache, buildCacheNeeds, "GOCACHE"},
		{e.at.moduleCache, moduleCacheNeeds, "GOMODCACHE"},
	}
	fullest, least := all[0], uint64(1<<63)
	var needs []string
	for _, p := range all {
		free := freeBytes(p.path)
		if free < least {
			fullest, least = p, free
		}
		needs = append(needs, fmt.Sprintf("%s in %s (%s moves it)", p.needs, p.path, p.setting))
	}
	return fmt.Sprintf("the disk of %s is full (%d MB free): a build from nothing needs about %s; make room or move one, and run the same command again, which keeps what is built",
		fullest.path, least/1e6, strings.Join(needs, ", "))
}

// Unwrap gives access to what failed.
func (e *diskFullError) Unwrap() error { return e.err }

// freeBytes is the space that is left for files in a folder, which need not exist
// yet, or a very large number when nobody knows.
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

// readOnlyError says that something is missing from a cache that is somebody
// else's.
type readOnlyError struct {
	root       string
	incomplete error
	err        error
}

// Error is one sentence.
func (e *readOnlyError) Error() string {
	return fmt.Sprintf("the cache %s can't be written and has not all that is needed (%v): ask whoever keeps it to run `%s` with the same Go, or set TESTBED_CACHE to a folder of your own", e.root, e.incomplete, command)
}

// Unwrap gives access to what failed.
func (e *readOnlyError) Unwrap() error { return e.err }

// isReadOnly says whether an error means that a folder can't be written by us.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
