package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file of a bundle.
type file struct {
	// name is its path in the bundle, with slashes.
	name string
	// source is its path here.
	source string
}

// rehearsed are the commands that fetch modules, run in the repository's root. What they download into an empty module cache is
// exactly what a learner's machine needs.
var rehearsed = [][]string{
	{"go", "mod", "download"},
	{"go", "-C", "scripts/tools", "mod", "download"},
	{"go", "-C", "scripts/helm", "list", "-deps", "tool"},         // only what compiles Helm, which requires much more
	{"go", "-C", "scripts/alerts", "list", "-deps", "-test", "."}, // only what compiles it
	{"go", "-C", "scripts/release", "mod", "download"},
	{"go", "-C", "tutorial/browser", "mod", "download"},
	{"go", "-C", "kind/kubernetes", "run", "."},
}

// modules fetches the modules into a directory, from this machine's module cache where it has them, and returns the files that
// Go needs of them.
func modules(ctx context.Context, directory string) ([]file, error) {
	settings, err := output(ctx, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return nil, err
	}
	cache, proxy, _ := strings.Cut(settings, "\n")
	environment := []string{
		"GOMODCACHE=" + directory,
		"GOPROXY=file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")) + "," + proxy,
		"GOFLAGS=-modcacherw -buildvcs=false",
		"TESTBED_DOWNLOAD=no", // or Kubernetes' modules would be missing
	}
	for _, command := range rehearsed {
		if _, err := output(ctx, environment, command[0], command[1:]...); err != nil {
			return nil, err
		}
	}
	return filesBelow(filepath.Join(directory, "cache", "download"), modulesDir, func(name string) bool {
		return !strings.HasSuffix(name, ".lock") && !strings.HasPrefix(name, "sumdb/")
	})
}

// nodePrograms are not packed. They are next to the embedded cluster's programs if a node image was made.
var nodePrograms = []string{"kube-proxy", "kubeadm", "kubelet"}

// programs returns the files of the embedded cluster's programs for a platform in the testbed's cache, and compiles those that
// are missing.
func programs(ctx context.Context, platform string) ([]file, error) {
	assets, err := output(ctx, nil, "go", "-C", "kind/kubernetes", "run", ".", "-platform="+platform)
	if err != nil {
		return nil, err
	}
	return filesBelow(assets, clusterOf(platform)+"assets/"+filepath.Base(assets)+"/", func(name string) bool {
		return !slices.Contains(nodePrograms, strings.TrimSuffix(name, ".json"))
	})
}

// builtSites are where make bundle makes the site of the tutorial, for a server of its own and below a path.
var builtSites = []string{filepath.Join("bin", "site"), filepath.Join("bin", "site-below")}

// keyFile is in the directory of a site and holds the key of what it was made of: see tutorial/internal/hugo, which recognizes a
// site that was unpacked by it. It makes a site complete, so it is unpacked last.
const keyFile = ".key"

// sites returns the files of the sites in the directories.
func sites(directories ...string) ([]file, error) {
	var found []file
	for _, directory := range directories {
		key, err := os.ReadFile(filepath.Join(directory, keyFile))
		if err != nil {
			return nil, fmt.Errorf("%w: make bundle makes the site first", err)
		}
		name := siteDir + string(key) + "/"
		files, err := filesBelow(directory, name, func(name string) bool { return name != keyFile })
		if err != nil {
			return nil, err
		}
		found = slices.Concat(found, files, []file{{name: name + keyFile, source: filepath.Join(directory, keyFile)}})
	}
	return found, nil
}

// filesBelow returns the wanted files below a directory, named by a prefix and their path in it.
func filesBelow(directory, prefix string, wanted func(name string) bool) ([]file, error) {
	var found []file
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		if name = filepath.ToSlash(name); err == nil && wanted(name) {
			found = append(found, file{name: prefix + name, source: path})
		}
		return err
	})
	return found, err
}

// output runs a command with additional environment and returns its standard output. The error ends with the last line that the
// command printed.
func output(ctx context.Context, environment []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(os.Environ(), environment...)
	out, err := command.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = errors.New(reasonIn(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// reasonIn returns why a command failed: the last line that it printed, except for go run's own.
func reasonIn(printed string) string {
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(printed), "\n")) {
		if !strings.HasPrefix(line, "exit status ") {
			return strings.TrimSpace(line)
		}
	}
	return printed
}
