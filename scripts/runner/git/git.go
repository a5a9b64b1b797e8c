// Package git asks git about a clone.
package git

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Output returns what git prints in a directory.
func Output(ctx context.Context, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return string(out), nil
}
