package markdown

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// snapshotOf returns a function that takes a snapshot when it is called first, and returns its path.
func snapshotOf(root, to string) func() (string, error) {
	return sync.OnceValues(func() (string, error) { return to, takeSnapshot(root, to) })
}

// takeSnapshot makes a Git repository, without a working tree, of the repository's working tree as it is now: what git knows or would
// add, committed.
func takeSnapshot(root, to string) error {
	into := "--git-dir=" + filepath.Join(to, ".git")
	for _, args := range [][]string{
		{"init", "--quiet", to},
		{into, "--work-tree=.", "add", "--all"},
		{into, "-c", "user.name=prose", "-c", "user.email=prose@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=A copy"},
	} {
		if _, err := git(root, args...); err != nil {
			return err
		}
	}
	return nil
}

// newestOf returns a function that looks for the newest source when it is called first.
func newestOf(root string) func() (time.Time, error) {
	return sync.OnceValues(func() (time.Time, error) { return newestSource(root) })
}

// newestSource returns when a source of the repository's executables last changed.
func newestSource(root string) (newest time.Time, err error) {
	files, err := repositoryFiles(root, "*.go", "go.mod", "go.sum")
	for _, file := range files {
		if info, err := os.Lstat(filepath.Join(root, file)); err == nil && !strings.HasSuffix(file, "_test.go") && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, err
}

// copyRepository makes a clone of a snapshot of the repository, and adds those of the built files that there are. In the clone, every file
// is new, so make could not see there that an executable is older than its sources: such a one is left out, and make builds it.
func copyRepository(o Options, snapshot, to string) error {
	if _, err := git(".", "clone", "--quiet", "--local", "--origin=snapshot", snapshot, to); err != nil {
		return err
	}
	if _, err := git(to, "remote", "remove", "snapshot"); err != nil {
		return err
	}
	newest, err := o.newest()
	if err != nil {
		return err
	}
	for _, file := range o.Built {
		built := filepath.Join(o.Root, file)
		if info, err := os.Stat(built); errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().Before(newest) {
			continue
		}
		content, err := os.ReadFile(built)
		target := filepath.Join(to, file)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, 0o755)); err != nil {
			return fmt.Errorf("copy the repository: %w", err)
		}
	}
	return linkFiles(o, to)
}

// linkFiles links the files that match o.Linked into a copy, unless that is on another file system: they save time, and nothing else.
func linkFiles(o Options, to string) error {
	for _, pattern := range o.Linked {
		files, err := filepath.Glob(filepath.Join(o.Root, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			target := filepath.Join(to, filepath.Dir(pattern), filepath.Base(file))
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			_ = os.Link(file, target)
		}
	}
	return nil
}

// repositoryFiles names the files of the working tree: those that git knows or would add.
func repositoryFiles(root string, patterns ...string) ([]string, error) {
	args := append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}, patterns...)
	output, err := git(root, args...)
	if err != nil {
		return nil, err
	}
	var files []string
	for file := range strings.SplitSeq(strings.TrimRight(output, "\x00"), "\x00") {
		// One that is deleted in the working tree is still known.
		if _, err := os.Lstat(filepath.Join(root, file)); err == nil {
			files = append(files, file)
		}
	}
	return files, nil
}

// git runs git in a directory, unmoved by variables that a hook may have set.
func git(directory string, args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir = directory
	command.Env = without(os.Environ(), "GIT_")
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", strings.Join(args, " "), directory, err, strings.TrimSpace(stderr.String()))
	}
	return string(output), nil
}

// without is an environment without the variables whose names begin so.
func without(environment []string, prefixes ...string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}
