package gorun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
)

const module = "github.com/example/operator-testbed"

// Root returns the root of the repository, in whose modules the commands are: the clone that the working directory is in, or
// refers to with a replace directive in go.mod.
//
// Where there is no clone, it is a copy of the version that the working directory's go.mod requires, or that this program is compiled
// from, as with `go run github.com/example/operator-testbed/e2e/cmd/testbed@VERSION`. [assemble] makes it from Go's module cache.
func Root(ctx context.Context) (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		if version := installed(info); version != "" {
			return assemble(ctx, version)
		}
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-json", module).Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", errNoGo
	}
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = errors.New(strings.TrimSpace(string(failed.Stderr)))
		}
		return "", fmt.Errorf("find the module %s: %w: this directory is not in a clone of operator-testbed: change to one and try again", module, err)
	}
	var found struct {
		Dir, Version string
		Replace      *struct{ Version string }
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("find the module %s: %w", module, err)
	}
	if found.Version != "" && found.Replace == nil {
		return assemble(ctx, found.Version)
	}
	if _, err := os.Stat(found.Dir); err != nil {
		return "", fmt.Errorf("find the module %s: %w", module, err)
	}
	return found.Dir, nil
}

// installed returns the version of this module that a program is compiled from, if the Go command has downloaded it to compile the
// program. A module in a clone has no checksum.
func installed(info *debug.BuildInfo) string {
	if info.Main.Path == module && info.Main.Sum != "" {
		return info.Main.Version
	}
	return ""
}
