package submission

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// gitPatience is how long git may read a repository.
const gitPatience = time.Minute

// Clone makes dir, which must not exist, what the branch of a git repository's HEAD has, and returns the commit.
//
// Git never runs in the student's repository, whose configuration, hooks, attributes and alternates could make it run programs or
// read objects of others: upload-pack alone reads alternates, and git archive runs filters. Only the files with objects are copied,
// into an empty repository with a configuration of our own, and read there with commands that apply no filters and fetch no submodules.
func Clone(ctx context.Context, root, repository, dir string) (commit string, err error) {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	t, commit, err := readRepository(ctx, repository)
	if err != nil {
		return "", err
	}
	return commit, t.accept(root, dir)
}

func readRepository(ctx context.Context, repository string) (t *tree, commit string, err error) {
	git, err := openDirectory(repository)
	if err != nil {
		return nil, "", err
	}
	defer git.Close()
	if inside, err := git.OpenRoot(".git"); err == nil { // not a bare one
		defer inside.Close()
		git = inside
	}
	r := reader{name: filepath.Base(repository)}
	if commit = head(git); commit == "" {
		return nil, "", refuse(r.name, "has no commit on the branch of its HEAD, or is not a git repository: push to it first")
	}
	if r.dir, err = os.MkdirTemp("", "lab-"); err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(r.dir)
	if err := r.prepare(git, commit); err != nil {
		return nil, "", err
	}
	t = newTree()
	blobs, err := r.list(ctx, commit)
	if err == nil {
		err = r.read(ctx, blobs, t)
	}
	return t, commit, err
}

// reader reads the objects of a student's repository in a repository of our own.
type reader struct {
	name string // of the student's repository, in messages
	dir  string
}

// objectFile matches the files with objects, in the directory objects: packs, their indexes, and loose ones.
var objectFile = regexp.MustCompile(`^(pack/pack-[0-9a-f]+\.(pack|idx)|[0-9a-f]{2}/([0-9a-f]{38}|[0-9a-f]{62}))$`)

// prepare makes the empty repository, and copies the objects into it.
func (r reader) prepare(git *os.Root, commit string) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if len(commit) == 64 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	if err := os.Mkdir(filepath.Join(r.dir, "refs"), 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"config": config, "HEAD": "ref: refs/heads/main\n"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	directories, err := list(git, "objects", MaxObjects)
	if err != nil {
		return refuse(r.name, "has no objects that can be read: push to it first")
	}
	var files int
	var total int64
	for _, directory := range directories {
		if !directory.IsDir() {
			continue
		}
		inside := path.Join("objects", directory.Name())
		if err := os.MkdirAll(filepath.Join(r.dir, inside), 0o700); err != nil {
			return err
		}
		objects, err := list(git, inside, MaxObjects)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if !objectFile.MatchString(directory.Name()+"/"+object.Name()) || !object.Type().IsRegular() {
				continue
			}
			size, err := copyObject(git, path.Join(inside, object.Name()), r.dir, MaxRepositoryBytes-total)
			if err != nil {
				return err
			}
			files++
			if total += size; total > MaxRepositoryBytes || files > MaxObjects {
				return refuse(r.name, "is larger than %d MiB or %d objects: hand in a repository that never had what is built",
					MaxRepositoryBytes>>20, MaxObjects)
			}
		}
	}
	return nil
}

// copyObject copies a file of the repository, or one byte more than the limit of it, and returns how many bytes it has copied.
func copyObject(git *os.Root, name, to string, limit int64) (int64, error) {
	from, info, err := openFile(git, name)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if !info.Mode().IsRegular() {
		return 0, nil
	}
	copied, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(copied, io.LimitReader(from, limit+1))
	return size, errors.Join(err, copied.Close())
}

// run runs git with what it prints going to read, and stops it when read returns.
func (r reader) run(ctx context.Context, input io.Reader, read func(out *bufio.Reader) error, arguments ...string) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	git := exec.CommandContext(running, "git", arguments...)
	git.Dir, git.Stdin = r.dir, input
	var stderr bytes.Buffer
	git.Stderr = &stderr
	git.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LC_ALL=C", "GIT_DIR=" + r.dir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0",
		// An object may claim to be of any size.
		fmt.Sprintf("GIT_ALLOC_LIMIT=%d", 2*MaxBytes),
	}
	out, err := git.StdoutPipe()
	if err != nil {
		return err
	}
	if err := git.Start(); err != nil {
		return err
	}
	buffered := bufio.NewReader(out)
	wrong := read(buffered)
	if wrong != nil {
		stop()
	}
	_, _ = io.Copy(io.Discard, buffered)
	failed := git.Wait()
	var refused *RefusedError
	switch {
	case errors.As(wrong, &refused):
		return wrong
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return refuse(r.name, "takes git longer than %s to read: hand in a smaller repository", gitPatience)
	case ctx.Err() != nil:
		return ctx.Err()
	case wrong != nil || failed != nil:
		why := firstLine(cmp.Or(stderr.String(), errors.Join(wrong, failed).Error()))
		return refuse(r.name, "can't be read by git (%s): push to a new repository", why)
	}
	return nil
}

// blob is a file in a commit.
type blob struct {
	id string
	entry
}

// list returns the files of a commit that belong to a submission.
func (r reader) list(ctx context.Context, commit string) ([]blob, error) {
	var blobs []blob
	err := r.run(ctx, nil, func(out *bufio.Reader) error {
		for {
			line, err := out.ReadSlice(0)
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return nil
			}
			if err != nil {
				return err
			}
			about, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\x00"), "\t")
			fields := strings.Fields(about) // mode, type, id and size
			if len(fields) != 4 {
				return fmt.Errorf("git ls-tree has printed %q", about)
			}
			found := blob{id: fields[2], entry: entry{name: name, file: file{executable: fields[0] == "100755"}}}
			if err := checkName(name); err != nil {
				return err
			}
			if leftOut(name) {
				continue
			}
			size, err := strconv.ParseInt(fields[3], 10, 64)
			switch {
			case fields[0] == "120000":
				found.kind = fs.ModeSymlink
			case fields[1] != "blob":
				return refuse(name, "is a submodule: hand in its files")
			case err != nil:
				return fmt.Errorf("git ls-tree has printed the size %q", fields[3])
			case size > MaxFileBytes: // git would read all of it
				return refuse(name, tooLarge, MaxFileBytes>>20)
			}
			if len(blobs) >= MaxFiles {
				return refuse(name, tooMany, MaxFiles)
			}
			blobs = append(blobs, found)
		}
	}, "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
	return blobs, err
}

// read adds the files.
func (r reader) read(ctx context.Context, blobs []blob, t *tree) error {
	var ids strings.Builder
	for _, blob := range blobs {
		fmt.Fprintln(&ids, blob.id)
	}
	return r.run(ctx, strings.NewReader(ids.String()), func(out *bufio.Reader) error {
		for _, blob := range blobs {
			var id, kind string
			var size int64
			if _, err := fmt.Fscanf(out, "%s %s %d\n", &id, &kind, &size); err != nil {
				return fmt.Errorf("object %s: %w", blob.id, err)
			}
			if err := t.add(blob.entry, io.LimitReader(out, size)); err != nil {
				return err
			}
			if end, err := out.ReadByte(); err != nil || end != '\n' {
				return fmt.Errorf("object %s is incomplete", blob.id)
			}
		}
		return nil
	}, "cat-file", "--batch")
}
