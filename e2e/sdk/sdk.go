// Package sdk finds and runs the programs that `make sdk` builds: operator-sdk, opm and what belongs to them. Nothing compiles them
// unasked, because that takes minutes.
package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// link is what `make sdk` makes in the repository's root: a symbolic link to the directory of the programs.
const link = "bin/sdk"

// The programs.
const (
	OperatorSDK     = "operator-sdk"
	OPM             = "opm"
	Helm            = "helm"
	HelmOperator    = "helm-operator"
	AnsibleOperator = "ansible-operator"
	ScorecardTest   = "scorecard-test"
)

// EventPlugin is a Python package beside the programs, which ansible-operator needs.
const EventPlugin = "event-plugin"

var programs = []string{OperatorSDK, OPM, Helm, HelmOperator, AnsibleOperator, ScorecardTest}

// ErrNotBuilt is the error where the programs have never been built.
var ErrNotBuilt = errors.New("Operator SDK is not built: type make sdk in the root of operator-testbed, which compiles it once, for several minutes") //nolint:staticcheck // a name

// Tools is the directory that holds the programs.
type Tools string

// Find returns the programs that `make sdk` has built in the repository at root. It returns ErrNotBuilt if there are none, and
// another error if they are incomplete or older than the versions that scripts/sdk pins.
func Find(root string) (Tools, error) {
	path, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(link)))
	if err != nil {
		return "", err
	}
	built, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotBuilt
	}
	if err != nil {
		return "", err
	}
	for _, name := range programs {
		if _, err := exec.LookPath(filepath.Join(path, name)); err != nil {
			return "", fmt.Errorf("%s is not in %s: type make sdk in the root of operator-testbed, which builds what is missing", name, path)
		}
	}
	if _, err := os.Stat(filepath.Join(path, EventPlugin)); err != nil {
		return "", fmt.Errorf("%s is not in %s: type make sdk in the root of operator-testbed, which builds what is missing", EventPlugin, path)
	}
	for _, source := range []string{"go.mod", "go.sum", "main.go", "plugin.go"} {
		info, err := os.Stat(filepath.Join(root, "scripts", "sdk", source))
		if err != nil {
			return "", err
		}
		if info.ModTime().After(built.ModTime()) {
			return "", fmt.Errorf("Operator SDK was built before scripts/sdk/%s changed: type make sdk again in the root of operator-testbed", source) //nolint:staticcheck // a name
		}
	}
	// The directory itself, because the link may come to point to another version.
	path, err = filepath.EvalSymlinks(path)
	return Tools(path), err
}

// Beside is [Find] for the clone that this executable is in, as bin/testbed is.
func Beside() (Tools, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	return Find(filepath.Dir(filepath.Dir(executable)))
}

// Need returns the programs, or skips the test with a sentence that says how to build them.
func Need(t testing.TB, root string) Tools {
	t.Helper()
	tools, err := Find(root)
	if err != nil {
		t.Skip(err)
	}
	return tools
}

// Missing says why the blocks of pages that need the programs (tools=sdk), or Ansible as well (tools=ansible), can't be typed. It is
// empty where everything is there.
func Missing(root string) map[string]string {
	missing := map[string]string{}
	_, err := Find(root)
	if err != nil {
		missing["sdk"] = err.Error()
	}
	if err := errors.Join(err, FindAnsible()); err != nil {
		missing["ansible"] = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return missing
}

// Path returns the path of a program.
func (tools Tools) Path(name string) string { return filepath.Join(string(tools), name) }

// Run runs a program in a directory, and returns what it prints on standard output. What it prints on standard error is part of the error.
func (tools Tools) Run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, tools.Path(name), args...)
	command.Dir = dir
	// Neither the user's cluster nor a registry's credentials.
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "DOCKER_CONFIG="+os.DevNull)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.Bytes(), bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}
