package markdown

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// copyRepository makes a clone of the repository as its working tree is now: what git knows or would add, committed; and
// those of the built files that there are.
func copyRepository(root, to string, built []string) error {
	files, err := repositoryFiles(root)
	if err != nil {
		return err
	}
	for _, file := range built {
		if _, err := os.Stat(filepath.Join(root, file)); err == nil {
			files = append(files, file)
		}
	}
	for _, file := range files {
		if err := copyFile(filepath.Join(root, file), filepath.Join(to, file)); err != nil {
			return fmt.Errorf("copy the repository: %w", err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=prose", "-c", "user.email=prose@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=A copy"},
	} {
		if _, err := git(to, args...); err != nil {
			return err
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

// copyFile copies a file, or a link as a link.
func copyFile(from, to string) error {
	found, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if found.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, found.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if closing := target.Close(); err == nil {
		err = closing
	}
	return err
}

// git runs git in a folder, unmoved by variables that a hook may have set.
func git(folder string, args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir = folder
	command.Env = without(os.Environ(), "GIT_")
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", strings.Join(args, " "), folder, err, strings.TrimSpace(stderr.String()))
	}
	return string(output), nil
}

// without is an environment without the variables whose names begin so.
func without(environment []string, prefixes ...string) []string {
	var left []string
	for _, variable := range environment {
		matches := false
		for _, prefix := range prefixes {
			matches = matches || strings.HasPrefix(variable, prefix)
		}
		if !matches {
			left = append(left, variable)
		}
	}
	return left
}
