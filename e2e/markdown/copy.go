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
)

// copyRepository makes a clone of the repository as its working tree is now: what git knows or would add, committed; and
// those of the built files that there are.
func copyRepository(root, to string, built []string) error {
	copied := "--git-dir=" + filepath.Join(to, ".git")
	for _, step := range []struct {
		directory string
		args      []string
	}{
		{root, []string{"init", "--quiet", to}},
		{root, []string{copied, "--work-tree=.", "add", "--all"}},
		{root, []string{copied, "-c", "user.name=prose", "-c", "user.email=prose@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=A copy"}},
		{to, []string{"reset", "--quiet", "--hard"}},
	} {
		if _, err := git(step.directory, step.args...); err != nil {
			return err
		}
	}
	for _, file := range built {
		content, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		target := filepath.Join(to, file)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, 0o755)); err != nil {
			return fmt.Errorf("copy the repository: %w", err)
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
