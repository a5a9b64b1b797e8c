// Package home says where the testbed keeps its files on this machine: what
// it has built (the cache, which may be shared and read-only) and what is
// running (the state, which is this user's own).
package home

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	// cacheVariable is the environment variable that moves the cache.
	cacheVariable = "TESTBED_CACHE"
	// StateVariable is the environment variable that moves the state.
	StateVariable = "TESTBED_STATE"

	folder = "operator-testbed"
)

// Cache returns the absolute path of the folder for what takes long to build.
// It is $TESTBED_CACHE, which must be absolute because programs of several working
// directories share it, else operator-testbed in the user's cache folder (see
// os.UserCacheDir). The folder need not exist and may be read-only: a
// classroom shares one.
func Cache() (string, error) {
	if dir := os.Getenv(cacheVariable); filepath.IsAbs(dir) {
		return dir, nil
	} else if dir != "" {
		return "", fmt.Errorf("%s is %s: it must be an absolute path", cacheVariable, dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w; set %s to a folder", err, cacheVariable)
	}
	return filepath.Join(base, folder), nil
}

// State returns the absolute path of the folder for what is running now. It is
// $TESTBED_STATE, else operator-testbed in $XDG_STATE_HOME, else in
// ~/.local/state. The folder need not exist.
func State() (string, error) {
	if dir := os.Getenv(StateVariable); dir != "" {
		return absolute(dir)
	}
	// The XDG specification tells programs to ignore a relative path here.
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, folder), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w; set %s to a folder", err, StateVariable)
	}
	return filepath.Join(user, ".local", "state", folder), nil
}

// absolute makes the state's folder independent of the working directory: tests
// run in their package's folder, the CLI anywhere.
func absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("make %s=%s absolute: %w", StateVariable, dir, err)
	}
	return abs, nil
}
