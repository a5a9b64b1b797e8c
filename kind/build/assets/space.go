package assets

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// reserve is the free space, in bytes, below which a build is stopped.
const reserve = 100e6

// places are the folders that a build writes to.
type places struct {
	store, buildCache, moduleCache string
	// proxy is where modules come from.
	proxy string
	// free is the space that is left in a folder, in bytes.
	free func(path string) uint64
}

// diskFullError says that a build ran out of space.
type diskFullError struct {
	at  places
	err error
}

// Error names all places that a build fills, with what a build from nothing was
// measured to need there and the setting that moves it.
func (e *diskFullError) Error() string {
	type place struct{ path, needs, setting string }
	all := []place{
		{e.at.store, "0.5 GB", "TESTBED_CACHE"},
		{e.at.buildCache, "4 GB", "GOCACHE"},
		{e.at.moduleCache, "1 GB", "GOMODCACHE"},
	}
	fullest, least := all[0], e.at.free(all[0].path)
	var needs []string
	for _, p := range all {
		if free := e.at.free(p.path); free < least {
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
