package recheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// calm is how long files have to stay as they are before a change is reported: a save is several changes.
const calm = 100 * time.Millisecond

// Files reports changes of the files in a directory and below, by the name of one that has changed, relative to the directory. What is
// built, and hidden files, do not count. Changes that nobody has received yet are one. The channel is closed when ctx ends.
func Files(ctx context.Context, dir string) (<-chan string, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	if err := addAll(watcher, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), watcher.Close())
	}
	changes := make(chan string, 1)
	go func() {
		defer close(changes)
		defer watcher.Close()
		report(ctx, watcher, dir, changes)
	}()
	return changes, nil
}

// report sends the changes that the watcher sees.
func report(ctx context.Context, watcher *fsnotify.Watcher, dir string, changes chan<- string) {
	changed := ""
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-watcher.Errors: //nolint:errcheck // whichever it is, an event was lost, so something has changed
			changed, quiet = ".", time.After(calm)
		case event := <-watcher.Events:
			if event.Op == fsnotify.Chmod || ignored(dir, event.Name) {
				continue
			}
			if event.Has(fsnotify.Create) {
				_ = addAll(watcher, event.Name) // it may be gone again, and then needs no watching
			}
			changed, quiet = event.Name, time.After(calm)
		case <-quiet:
			quiet = nil
			name, err := filepath.Rel(dir, changed)
			if err != nil {
				name = changed
			}
			select {
			case changes <- name:
			default: // another one is waiting
			}
		}
	}
}

// addAll watches a directory and those below; a file is watched with its directory.
func addAll(watcher *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case path != dir && ignored(dir, path):
			return filepath.SkipDir
		}
		return watcher.Add(path)
	})
}

// ignored reports whether a path in the directory says nothing about the operator: what is built, what is hidden, and what editors write
// beside a file.
func ignored(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(strings.Split(relative, string(filepath.Separator)), func(name string) bool {
		return name != "." && strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || slices.Contains([]string{"bin", "dist", "4913"}, name)
	})
}
