package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/kind/build/program"
)

// The Python package with which ansible-runner sends its events to ansible-operator. It is
// in the module of ansible-operator, and Debian has no package of it.
const (
	pluginSource = "images/ansible-operator/ansible_runner_http/ansible_runner_http"
	pluginName   = "ansible_runner_http"
)

// pluginDirectory is the directory beside the programs that goes on PYTHONPATH.
const pluginDirectory = "event-plugin"

// addEventPlugin copies the Python package from the version of ansible-operator's module that
// go.mod in module requires into the directory of the programs, unless it is there.
func addEventPlugin(ctx context.Context, module, programs string) error {
	target := filepath.Join(programs, pluginDirectory)
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	download := program.Program{Path: "go", Dir: module, Env: []string{"GOFLAGS=-tags=" + strings.Join(tags, ","), "GOWORK=off"}}
	printed, err := download.Output(ctx, "mod", "download", "-json", ansible)
	if err != nil {
		return err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(printed, &downloaded); err != nil {
		return fmt.Errorf("read what go mod download printed: %w", err)
	}
	if err := install(filepath.Join(downloaded.Dir, filepath.FromSlash(pluginSource)), target); err != nil {
		return fmt.Errorf("copy %s, which ansible-operator needs: %w", pluginName, err)
	}
	return nil
}

// share lets all users read a directory and what is in it, whatever the umask of this one is: they may share the cache.
func share(directory string) error {
	return filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}

// install copies the package from source into target, which appears only when it is complete.
func install(source, target string) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(target), pluginDirectory+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := errors.Join(os.CopyFS(filepath.Join(work, pluginName), os.DirFS(source)), share(work)); err != nil {
		return err
	}
	if err := os.Rename(work, target); err != nil {
		// Another make sdk may have been faster.
		if _, missing := os.Stat(target); missing != nil {
			return err
		}
	}
	return nil
}
