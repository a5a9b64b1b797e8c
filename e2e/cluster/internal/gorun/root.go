package gorun

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

const module = "github.com/example/operator-testbed"

// Root returns the root of the repository, in whose modules the commands are.
func Root(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
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
	return strings.TrimSpace(string(root)), nil
}
