// Package home finds the directories in which the testbed keeps its files on this
// machine: the cache, for what it has built, which may be shared and read-only, and
// the state, for what is running, which is this user's own.
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

	directory = "operator-testbed"
)

// Cache returns the absolute path of the directory for what takes long to build.
// It is $TESTBED_CACHE, which must be absolute because programs in several working
// directories share it, or else operator-testbed in the user's cache directory (see
// os.UserCacheDir). The directory need not exist and may be read-only, as one that a
// classroom shares.
func Cache() (string, error) {
	if dir := os.Getenv(cacheVariable); filepath.IsAbs(dir) {
		return dir, nil
	} else if dir != "" {
		return "", fmt.Errorf("%s is %s: it must be an absolute path", cacheVariable, dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w; set %s to a directory", err, cacheVariable)
	}
	return filepath.Join(base, directory), nil
}

// State returns the absolute path of the directory for what is running now. It is
// $TESTBED_STATE, which must be absolute because a relative path would mean another
// directory to each program, or else operator-testbed in $XDG_STATE_HOME or in ~/.local/state.
// The directory need not exist.
func State() (string, error) {
	if dir := os.Getenv(StateVariable); filepath.IsAbs(dir) {
		return dir, nil
	} else if dir != "" {
		return "", fmt.Errorf("%s is %s: it must be an absolute path", StateVariable, dir)
	}
	// The XDG specification tells programs to ignore a relative path here.
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, directory), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w; set %s to a directory", err, StateVariable)
	}
	return filepath.Join(user, ".local", "state", directory), nil
}

// KubectlCache returns the directory, beside a cluster's kubeconfig, in which kubectl keeps which kinds the cluster has, if
// $KUBECACHEDIR says so. By default, all clusters share one in the user's home. It goes by the address of the API server, so for six
// hours, a new cluster at the address of an old one would seem to have the CustomResourceDefinitions of that.
func KubectlCache(kubeconfig string) string {
	return filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache")
}
