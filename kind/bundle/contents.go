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

// A file of a bundle.
type file struct {
	// name is its path in the bundle, with slashes.
	name string
	// source is its path here.
	source string
}

// rehearsed are the commands that fetch modules, run in the repository's root. What they leave in an empty module cache is
// what a learner's machine needs: nothing is guessed.
var rehearsed = [][]string{
	{"go", "mod", "download"},
	{"go", "-C", "scripts/tools", "mod", "download"},
	{"go", "-C", "scripts/helm", "list", "-deps", "tool"}, // only what compiles Helm, which requires much more
	{"go", "-C", "scripts/release", "mod", "download"},
	{"go", "-C", "kind/kubernetes", "run", "."},
}

// modules fetches the modules into a folder, from this machine's module cache where it has them, and returns the files that
// Go needs of them.
func modules(ctx context.Context, folder string) ([]file, error) {
	cache, err := output(ctx, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	proxy, err := output(ctx, nil, "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	environment := []string{
		"GOMODCACHE=" + folder,
		"GOPROXY=file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")) + "," + proxy,
		"GOFLAGS=-modcacherw -buildvcs=false",
	}
	for _, command := range rehearsed {
		if _, err := output(ctx, environment, command[0], command[1:]...); err != nil {
			return nil, err
		}
	}
	return filesBelow(filepath.Join(folder, "cache", "download"), modulesDir, func(name string) bool {
		return !strings.HasSuffix(name, ".lock") && !strings.HasPrefix(name, "sumdb/")
	})
}

// nodePrograms lie beside the embedded cluster's programs where a node image was made, and are not packed.
var nodePrograms = []string{"kube-proxy", "kubeadm", "kubelet"}

// programs returns the files of the embedded cluster's programs for a platform in the testbed's cache. Those that are missing
// are compiled.
func programs(ctx context.Context, platform string) ([]file, error) {
	assets, err := output(ctx, nil, "go", "-C", "kind/kubernetes", "run", ".", "-platform="+platform)
	if err != nil {
		return nil, err
	}
	return filesBelow(assets, clusterOf(platform)+"assets/"+filepath.Base(assets)+"/", func(name string) bool {
		return !slices.Contains(nodePrograms, strings.TrimSuffix(name, ".json"))
	})
}

// filesBelow returns the files below a folder that are wanted, by their path in it.
func filesBelow(folder, prefix string, wanted func(name string) bool) ([]file, error) {
	var found []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if name = filepath.ToSlash(name); err == nil && wanted(name) {
			found = append(found, file{name: prefix + name, source: path})
		}
		return err
	})
	return found, err
}

// output runs a command with more environment and returns what it prints. The error ends with the last line of what it said.
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

// reasonIn is why a command failed: the last line that it told, but for go run's own.
func reasonIn(told string) string {
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(told), "\n")) {
		if !strings.HasPrefix(line, "exit status ") {
			return strings.TrimSpace(line)
		}
	}
	return told
}
