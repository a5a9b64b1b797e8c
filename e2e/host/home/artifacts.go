package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// artifactsVariable is the environment variable that moves the artifacts.
const artifactsVariable = "TESTBED_ARTIFACTS"

// Artifacts creates the directory for the evidence of failures if it does not exist, and returns its path. It is
// $TESTBED_ARTIFACTS, or else testbed-artifacts-UID among the temporary files, which only this user can read and write.
// Other users of the machine can create a file, a symbolic link or a directory of that name first. Then a new directory
// takes its place, with another name at each call.
func Artifacts() (string, error) {
	if dir := os.Getenv(artifactsVariable); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		return dir, os.MkdirAll(dir, 0o755)
	}
	return privateDirectory(filepath.Join(Temporary(), fmt.Sprintf("testbed-artifacts-%d", os.Getuid())), os.Getuid())
}

// privateDirectory creates the directory of a path, or a new one beside it if something else than a private directory of the
// user is there.
func privateDirectory(path string, user int) (string, error) {
	err := os.Mkdir(path, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return path, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if status, ok := info.Sys().(*syscall.Stat_t); ok && info.IsDir() && int(status.Uid) == user && info.Mode().Perm()&0o077 == 0 {
		return path, nil
	}
	return os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+"-")
}
