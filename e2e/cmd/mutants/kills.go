package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/kind/home"
)

// most is how many kills are kept: those of the last few changes of everything.
const most = 1000

// kills remembers which mutants were killed, in a folder of the cache, by the content of all that has a part in it. A mutant that
// survives is never remembered, and what can't be read or written is only not remembered. The folder "" remembers nothing.
type kills string

// openKills returns the kills of this user, and forgets the oldest.
func openKills() kills {
	cache, err := home.Cache()
	if err != nil {
		return ""
	}
	k := kills(filepath.Join(cache, "mutants"))
	k.forget(most)
	return k
}

func (k kills) has(key string) bool {
	content, err := os.ReadFile(filepath.Join(string(k), key))
	return k != "" && err == nil && string(content) == key
}

func (k kills) add(key string) {
	if k == "" || os.MkdirAll(string(k), 0o755) != nil {
		return
	}
	file, err := os.CreateTemp(string(k), ".new-")
	if err != nil {
		return
	}
	_, err = file.WriteString(key)
	if closed := file.Close(); err != nil || closed != nil || os.Rename(file.Name(), filepath.Join(string(k), key)) != nil {
		_ = os.Remove(file.Name())
	}
}

// forget leaves the newest.
func (k kills) forget(keep int) {
	entries, err := os.ReadDir(string(k))
	if err != nil || len(entries) <= keep {
		return
	}
	age := map[string]int64{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			age[entry.Name()] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return int(age[a.Name()] - age[b.Name()]) })
	for _, entry := range entries[:len(entries)-keep] {
		_ = os.Remove(filepath.Join(string(k), entry.Name()))
	}
}

// machinery is what has a part in each kill, besides an operator, its suite and the patch.
var machinery = []string{"go.mod", "go.sum", "e2e", "kind/build", "kind/kubernetes"}

// parts are the files and folders that have a part in each kill of the target's mutants.
func (t *target) parts() []string { return append([]string{t.operator, t.folder}, machinery...) }

// key returns what a kill of the mutant is remembered by.
func (t *target) key(m mutant.Mutant) (string, error) {
	if t.content == "" {
		content, err := contentOf(t.root, t.parts())
		if err != nil {
			return "", err
		}
		t.content = content
	}
	patch, err := os.ReadFile(m.Path)
	if err != nil {
		return "", err
	}
	return digest(t.content, runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv(embedded.AssetsVariable), m.Name, string(patch)), nil
}

// contentOf sums up the files in these folders, relative to root, but for what was built there and mutants.
func contentOf(root string, folders []string) (string, error) {
	repository := os.DirFS(root)
	var files []string
	for _, folder := range folders {
		err := fs.WalkDir(repository, folder, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "bin":
				return fs.SkipDir
			case entry.Type().IsRegular() && (path.Ext(file) != ".patch" || path.Base(path.Dir(file)) != "mutants"):
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return dirhash.Hash1(files, func(file string) (io.ReadCloser, error) { return repository.Open(file) })
}

func digest(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}
