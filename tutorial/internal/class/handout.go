package class

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// Form is how copies are handed out and in.
type Form string

// The forms of a copy.
const (
	Directories  Form = "folders"
	Archives     Form = "archives"
	Repositories Form = "repositories"
)

// suffix returns how the names of copies end.
func (f Form) suffix() (string, error) {
	switch f {
	case Directories:
		return "", nil
	case Archives:
		return ".tar.gz", nil
	case Repositories:
		return ".git", nil
	}
	return "", fmt.Errorf("AS=%s is unknown: use %s, %s or %s", f, Directories, Archives, Repositories)
}

// Handout makes a copy for each student or pair who has none yet, in release/<assignment>/, and returns the ids of those. starter
// makes the copy that all of them get; nil means what make start or make break makes of the repository at root.
func Handout(
	ctx context.Context, root string, c *Class, a Assignment, form Form, starter func(ctx context.Context, dir string) error,
) (_ []string, err error) {
	defer func() { err = Explain(ctx, err) }()
	suffix, err := form.suffix()
	if err == nil {
		err = c.needStudents()
	}
	if err != nil {
		return nil, err
	}
	unlock, err := Lock(c.Dir, "make class-handout")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if starter == nil {
		starter = func(ctx context.Context, dir string) error {
			if a.Lab != "" {
				return exercises.Break(ctx, root, a.Lab, dir, io.Discard)
			}
			return exercises.Start(ctx, root, a.Stage, dir, io.Discard)
		}
	}
	work, release := filepath.Join(c.Dir, workDir), filepath.Join(c.Dir, Release, a.Name())
	copied := filepath.Join(work, a.Name())
	var handed []string
	for _, team := range c.teams(a) {
		id := team[0].ID
		to := filepath.Join(release, id+suffix)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if len(handed) == 0 {
			if err := errors.Join(os.MkdirAll(work, 0o700), starter(ctx, copied)); err != nil {
				return nil, err
			}
			if err := c.noteHandout(a, copied); err != nil {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return handed, ctx.Err()
		}
		fresh, err := c.copyFor(ctx, team[0], copied, filepath.Join(work, id), form)
		if err == nil {
			err = replace(fresh, to)
		}
		if err != nil {
			return handed, err
		}
		handed = append(handed, id)
	}
	return handed, nil
}

// handoutsDir has the hashes of what was handed out, a file for each assignment.
const handoutsDir = ".handed-out"

// handoutFile has those of an assignment.
func (c *Class) handoutFile(a Assignment) string {
	return filepath.Join(c.Dir, handoutsDir, a.Name())
}

// handedOut returns the hashes of what was handed out for an assignment: more than one if the repository has changed in between.
func (c *Class) handedOut(a Assignment) ([]string, error) {
	text, err := os.ReadFile(c.handoutFile(a))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

// noteHandout notes the hash of a copy that is about to be handed out.
func (c *Class) noteHandout(a Assignment, copied string) error {
	hash, err := submission.Hash(copied)
	if err != nil {
		return err
	}
	known, err := c.handedOut(a)
	if err != nil || slices.Contains(known, hash) {
		return err
	}
	file := c.handoutFile(a)
	text := strings.Join(append(known, hash), "\n") + "\n"
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
}

// copyFor makes a copy for a student, below the directory work, and returns its path.
func (c *Class) copyFor(ctx context.Context, s Student, copied, work string, form Form) (string, error) {
	// The name of the directory is what somebody sees who unpacks an archive.
	name := s.ID + "-" + filepath.Base(copied)
	directory := filepath.Join(work, name)
	if err := os.CopyFS(directory, os.DirFS(copied)); err != nil {
		return "", err
	}
	owner := event.Class{Class: c.Name, Student: s.ID}
	if c.Board != "" {
		owner.Board, owner.Token = c.Board, c.Token(s)
	}
	text, err := yaml.Marshal(owner)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(directory, event.ClassFile), text, 0o600); err != nil {
		return "", err
	}
	switch form {
	case Archives:
		archive := filepath.Join(work, "archive")
		return archive, pack(work, name, archive)
	case Repositories:
		repository := filepath.Join(work, "repository")
		return repository, commit(ctx, directory, repository, "Hand out "+filepath.Base(copied))
	default:
		return directory, nil
	}
}

// pack writes an archive of a directory that is in the directory work.
func pack(work, name, archive string) (err error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	writer := tar.NewWriter(compressed)
	err = fs.WalkDir(os.DirFS(work), name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(work, path))
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path, Mode: int64(info.Mode().Perm()), Size: int64(len(text)), ModTime: info.ModTime()}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		_, err = writer.Write(text)
		return err
	})
	if err := errors.Join(err, writer.Close(), compressed.Close()); err != nil {
		return err
	}
	return os.WriteFile(archive, packed.Bytes(), 0o600)
}

// commit makes a bare repository with one commit, of all files in a directory.
func commit(ctx context.Context, directory, repository, message string) error {
	for _, arguments := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", "--template="},
		{"--work-tree=" + directory, "add", "--all", "."},
		{"--work-tree=" + directory, "commit", "--quiet", "--message=" + message},
	} {
		git := exec.CommandContext(ctx, "git", arguments...)
		git.Dir = directory
		git.Env = append(os.Environ(), "GIT_DIR="+repository, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
			"GIT_AUTHOR_NAME=operator-testbed", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=operator-testbed", "GIT_COMMITTER_EMAIL=")
		if out, err := git.CombinedOutput(); err != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("git %s: %w %s", arguments[0], err, bytes.TrimSpace(out)))
		}
	}
	return os.Remove(filepath.Join(repository, "index"))
}
