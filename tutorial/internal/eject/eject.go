// Package eject makes a project of its own of an operator of this repository: a module that builds and tests without the
// repository, for a learner to work on or for anybody to begin with.
package eject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// module is the repository's module.
	module = "github.com/example/operator-testbed"

	// tools is the module that pins the programs that a Makefile calls, and copiedTools where a copy has it.
	tools, copiedTools = "scripts/tools", "hack/tools"

	// Operator is the directory of the finished operator.
	Operator = "operator"

	// ignored is what the targets of a Makefile make.
	ignored = "/bin/\n/dist/install.yaml\n"

	// attributes keep a git that is configured to convert line endings from making a Makefile that make can't read.
	attributes = "* text=auto eol=lf\n"
)

// OperatorOwn are files of the finished operator that are about this repository: what keeps its Makefile away from other clusters,
// the test that builds its images and those of a chapter, and the test of a page of its documentation.
var OperatorOwn = []string{"GNUmakefile", "internal/controller/faultmatrix_test.go"}

// Options say what is copied.
type Options struct {
	// Root is the repository.
	Root string
	// Directory is the operator's directory, relative to Root, with slashes.
	Directory string
	// Module is the name of the copy's module. A project without Go has none.
	Module string
	// Without are files and, ending with a slash, directories of Directory that are left out.
	Without []string
	// Instead is a directory whose files are copied instead of those of Root that have the same path; empty means none.
	Instead string
	// GNUmakefile is the text of the copy's GNUmakefile, which make reads instead of the Makefile; empty means none.
	GNUmakefile string
	// To is the directory of the copy. There must be nothing in it.
	To string
}

// Eject makes the copy. Where it fails it leaves nothing behind.
func Eject(ctx context.Context, o Options) (err error) {
	if err := empty(o.To); err != nil {
		return err
	}
	_, statErr := os.Stat(o.To)
	existed := statErr == nil
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(o.To, existed))
		}
	}()
	files, err := o.files(ctx)
	if err != nil {
		return err
	}
	rewrite := o.Rewriter()
	for _, file := range files {
		if err := copyFile(o.source(file), filepath.Join(o.To, file), rewrite); err != nil {
			return err
		}
	}
	written := map[string]string{".gitignore": ignored, ".gitattributes": attributes}
	if o.GNUmakefile != "" {
		written["GNUmakefile"] = o.GNUmakefile
	}
	for file, text := range written {
		if err := os.WriteFile(filepath.Join(o.To, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if WithoutGo(o.Root, o.Directory) {
		return nil
	}
	rewriteTools := strings.NewReplacer(module+"/"+tools, o.Module+"/"+copiedTools, tools, copiedTools)
	for _, file := range []string{"go.mod", "go.sum"} {
		from := filepath.Join(o.Root, tools, file)
		if err := copyFile(from, filepath.Join(o.To, copiedTools, file), rewriteTools); err != nil {
			return err
		}
	}
	return o.writeModule(ctx)
}

// WithoutGo reports whether an operator has no Go module, because it is a chart or a role that a program of Operator SDK runs.
func WithoutGo(root, directory string) bool {
	_, err := os.Stat(filepath.Join(root, directory, "watches.yaml"))
	return err == nil
}

// empty returns an error if there is anything in the directory.
func empty(directory string) error {
	// make passes DIR on as it is: only a shell makes a home directory of it, and only where it is not quoted.
	if strings.HasPrefix(directory, "~") {
		return fmt.Errorf(`%s would be a directory called "~" in the repository: write $HOME instead of ~`, directory)
	}
	entries, err := os.ReadDir(directory)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new or empty directory", directory)
	}
	return nil
}

// removeAll removes what is in a directory, and the directory too unless it existed before.
func removeAll(directory string, existed bool) error {
	if !existed {
		return os.RemoveAll(directory)
	}
	entries, err := os.ReadDir(directory)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(directory, entry.Name())))
	}
	return err
}

// files returns the files to copy, relative to the operator's directory. A directory in it that has its own PROJECT file is another
// operator.
func (o Options) files(ctx context.Context) ([]string, error) {
	all, err := o.known(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", o.Directory, err)
	}
	without := slices.Clone(o.Without)
	for _, file := range all {
		if directory, name := path.Split(file); name == "PROJECT" && directory != "" {
			without = append(without, directory)
		}
	}
	var files []string
	for _, file := range all {
		leftOut := slices.ContainsFunc(without, func(pattern string) bool {
			return file == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(file, pattern)
		})
		_, err := os.Stat(filepath.Join(o.Root, o.Directory, file))
		if !leftOut && err == nil {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no operator in %s", o.Directory)
	}
	return files, nil
}

// known returns the files of the operator's directory that git knows or would add, or all that no target makes, if the repository was
// downloaded without git's directory.
func (o Options) known(ctx context.Context) ([]string, error) {
	directory := filepath.Join(o.Root, o.Directory)
	if _, err := os.Stat(filepath.Join(o.Root, ".git")); errors.Is(err, fs.ErrNotExist) {
		return withoutGit(directory)
	}
	// The repository may be another user's: git only lists files here.
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", ".")
	list.Dir = directory
	// In a hook, these lead to another repository, or to an index that is being written.
	list.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_DIR=") || strings.HasPrefix(variable, "GIT_WORK_TREE=") || strings.HasPrefix(variable, "GIT_INDEX_FILE=")
	})
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w %s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), nil
}

// withoutGit returns the files of a directory, apart from those that a copy's .gitignore names.
func withoutGit(directory string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(directory, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(directory, file)
		within = filepath.ToSlash(within)
		switch {
		case err != nil:
		case entry.IsDir() && strings.Contains(ignored, "/"+within+"/\n"):
			return filepath.SkipDir
		case !entry.IsDir() && !strings.Contains(ignored, "/"+within+"\n"):
			files = append(files, within)
		}
		return err
	})
	return files, err
}

// source returns where a file of the operator's directory is copied from.
func (o Options) source(file string) string {
	if o.Instead != "" {
		instead := filepath.Join(o.Instead, o.Directory, file)
		if _, err := os.Stat(instead); err == nil {
			return instead
		}
	}
	return filepath.Join(o.Root, o.Directory, file)
}

// Rewriter returns what replaces the names of the operator's place in the repository by those of the copy.
func (o Options) Rewriter() *strings.Replacer {
	before := module + "/" + o.Directory
	up := strings.Repeat("../", strings.Count(o.Directory, "/")+1)
	return strings.NewReplacer(
		before, o.Module,
		dotted(before), dotted(o.Module),
		"./"+o.Directory+"/", "./",
		path.Join(up, tools), copiedTools,
	)
}

// dotted is how generated code names a package: the domain backwards, and dots for slashes.
func dotted(importPath string) string {
	domain, rest, _ := strings.Cut(importPath, "/")
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, strings.Split(rest, "/")...), ".")
}

func copyFile(from, to string, rewrite *strings.Replacer) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(rewrite.Replace(string(text))), info.Mode().Perm())
}
