package chapter

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Write writes files, named by their paths with slashes, into a directory. It makes the directory if there is none.
func Write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for file, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// GitDiff writes to out how git, run in dir with options and the names of two directories, shows what differs between these. The user's
// configuration does not count, because some of it, such as an external program, makes another text of it.
func GitDiff(ctx context.Context, dir string, out io.Writer, args ...string) error {
	diff := exec.CommandContext(ctx, "git", append([]string{"diff", "--no-index", "--no-ext-diff"}, args...)...)
	diff.Dir, diff.Stdout, diff.Stderr = dir, out, os.Stderr
	diff.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	var exit *exec.ExitError
	if err := diff.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 { // 1 means that something differs
		return err
	}
	return nil
}
