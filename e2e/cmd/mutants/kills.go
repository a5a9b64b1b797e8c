package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/mutant"
)

// openKills returns the cache of this user that remembers which mutants were killed, by the content of everything that matters for it,
// and forgets what has not been used for some days. A mutant that survives is never remembered. It returns nil if there is no such cache.
func openKills() *cache.Cache {
	directory, err := home.Cache()
	if err != nil {
		return nil
	}
	return killsIn(filepath.Join(directory, "mutants"))
}

func killsIn(directory string) *cache.Cache {
	if os.MkdirAll(directory, 0o755) != nil {
		return nil
	}
	kills, err := cache.Open(directory)
	if err != nil || kills.Trim() != nil {
		return nil
	}
	return kills
}

// testbed is what matters for each kill, besides an operator, its suite and the patch.
var testbed = []string{"e2e", "kind/build", "kind/kubernetes"}

// parts are the files and directories that matter for each kill of the target's mutants.
func (t *target) parts() []string { return append([]string{t.operator, t.directory}, testbed...) }

// key returns what a kill of the mutant is remembered by.
func (t *target) key(m mutant.Mutant) (key cache.ActionID, err error) {
	if t.content == "" {
		if t.content, err = contentOf(t.root, t.parts()); err != nil {
			return key, err
		}
	}
	patch, err := os.ReadFile(m.Path)
	parts := []string{t.content, runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv(embedded.AssetsVariable), os.Getenv("TESTBED_SEED"), m.Name, string(patch)}
	return sha256.Sum256(fmt.Appendf(nil, "%q", parts)), err
}

// contentOf returns a hash of the files in these directories, relative to root, except mutants and what was built there.
func contentOf(root string, directories []string) (string, error) {
	files := []string{"go.mod", "go.sum"}
	for _, directory := range directories {
		found, err := dirhash.DirFiles(filepath.Join(root, directory), directory)
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	files = slices.DeleteFunc(files, func(file string) bool {
		return strings.Contains(file, "/bin/") || path.Ext(file) == ".patch" && path.Base(path.Dir(file)) == "mutants"
	})
	return dirhash.Hash1(files, func(file string) (io.ReadCloser, error) { return os.Open(filepath.Join(root, file)) })
}
