package submission

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/event"
)

// tree is the files of a submission.
type tree struct {
	files map[string]file
	// seen are all names so far, directories with a slash at the end, by what a file system that ignores case makes of them.
	seen           map[string]string
	entries, bytes int
}

type file struct {
	content    []byte
	executable bool
	modified   time.Time // in a directory only
}

func newTree() *tree { return &tree{files: map[string]file{}, seen: map[string]string{}} }

func (f file) mode() fs.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// names returns the sorted names of the files.
func (t *tree) names() []string { return slices.Sorted(maps.Keys(t.files)) }

// entry is something in a submission, as a directory, an archive or a repository lists it.
type entry struct {
	name string
	kind fs.FileMode // its type bits
	file
}

const (
	tooMany  = "is one file too many: hand in at most %d, and nothing that is built or downloaded"
	tooLarge = "is larger than %d MiB: hand in sources only, and delete what is built"
)

// add takes in an entry, and reads a file's content.
func (t *tree) add(e entry, content io.Reader) error {
	if t.entries++; t.entries > MaxFiles {
		return refuse(e.name, tooMany, MaxFiles)
	}
	if err := checkName(e.name); err != nil {
		return err
	}
	if leftOut(e.name) {
		return nil
	}
	if kind := special(e.kind); kind != "" {
		return refuse(e.name, "is %s: hand in files and directories only", kind)
	}
	if err := t.place(e.name, e.kind.IsDir()); err != nil || e.kind.IsDir() {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(content, MaxFileBytes+1))
	if err != nil {
		return err
	}
	if err := t.size(e.name, len(text)); err != nil {
		return err
	}
	e.content = text
	t.files[e.name] = e.file
	return nil
}

// size counts a file's bytes.
func (t *tree) size(name string, bytes int) error {
	if bytes > MaxFileBytes {
		return refuse(name, tooLarge, MaxFileBytes>>20)
	}
	if t.bytes += bytes; t.bytes > MaxBytes {
		return refuse(name, "makes the submission larger than %d MiB: hand in sources only, and delete what is built", MaxBytes>>20)
	}
	return nil
}

// place notes that there is a file or a directory of that name. Two of one name, in whatever case, would overwrite each other on
// some machine.
func (t *tree) place(name string, directory bool) error {
	elements := strings.Split(name, "/")
	for i := range elements {
		this := strings.Join(elements[:i+1], "/")
		key, last := strings.ToLower(this), i == len(elements)-1
		if !last || directory {
			this += "/"
		}
		switch before, ok := t.seen[key]; {
		case !ok:
			t.seen[key] = this
		case before == this && strings.HasSuffix(this, "/"):
		case before == this:
			return refuse(name, "is there twice: hand in one")
		default:
			return refuse(name, "has the same name as %s, apart from case or being a directory: rename one of them", before)
		}
	}
	return nil
}

// special returns what an entry is that is neither a file nor a directory, and nothing for those.
func special(kind fs.FileMode) string {
	switch {
	case kind.IsRegular(), kind.IsDir():
		return ""
	case kind&fs.ModeSymlink != 0:
		return "a symbolic link"
	case kind&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case kind&fs.ModeSocket != 0:
		return "a socket"
	case kind&fs.ModeDevice != 0:
		return "a device"
	default:
		return "a special file"
	}
}

// maxName and maxElement are how long a name with its directories may be, in bytes, and one element of it.
const maxName, maxElement = 512, 200

// checkName returns an error unless name is a path below the submission's directory that is the same on all machines.
func checkName(name string) error {
	elements := strings.Split(name, "/")
	switch {
	case !utf8.ValidString(name):
		return refuse(name, "is not a name in UTF-8: rename the file")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return refuse(name, "has a control character or another invisible one in its name: rename the file")
	case strings.HasPrefix(name, "/"):
		return refuse(name, "is an absolute path: names are relative to the directory of the copy")
	case slices.Contains(elements, ".."):
		return refuse(name, "leads out of its directory with ..: names are relative to the directory of the copy")
	case !fs.ValidPath(name) || name == ".":
		return refuse(name, "is not a clean path: write it without empty elements and dots")
	case len(name) > maxName, slices.ContainsFunc(elements, func(element string) bool { return len(element) > maxElement }):
		return refuse(name[:64]+"...", "is too long: use at most %d bytes, and %d between two slashes", maxName, maxElement)
	}
	return nil
}

// leftOut reports whether a file or directory does not belong to a submission: what is built, git's, an editor's or a system's, and
// what is about the class.
func leftOut(name string) bool {
	elements := strings.Split(name, "/")
	if elements[0] == "bin" || slices.Contains([]string{"dist/install.yaml", event.ClassFile, CollectedFile, report.StateFile}, name) {
		return true
	}
	return slices.ContainsFunc(elements, func(element string) bool {
		return slices.Contains([]string{".git", ".idea", ".vscode", ".DS_Store", "__MACOSX"}, element) ||
			strings.HasSuffix(element, "~") || strings.HasSuffix(element, ".swp") ||
			strings.HasPrefix(element, ".#") || strings.HasPrefix(element, "._") ||
			strings.HasPrefix(element, "#") && strings.HasSuffix(element, "#")
	})
}

// noted reports whether a file is what the commands of a learner note in a copy.
func noted(name string) bool {
	return slices.Contains([]string{HintsFile, event.File, RecordFile}, name)
}

func (t *tree) hash() string {
	sum := sha256.New()
	for _, name := range t.names() {
		if !noted(name) {
			fmt.Fprintf(sum, "%x  %s\n", sha256.Sum256(t.files[name].content), name)
		}
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil))
}

// openDirectory opens a directory that may be a student's. It is not followed if it is a symbolic link.
func openDirectory(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, refuse(path.Base(dir), "is not a directory: hand in the directory of the copy")
	}
	return os.OpenRoot(dir)
}

// readDirectory reads a submission that is a directory. Somebody may change it meanwhile: a file that is replaced by a link leads
// nowhere outside.
func readDirectory(dir string) (*tree, error) {
	root, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := newTree()
	err = t.walk(root, ".")
	return t, err
}

// walk adds what is below a directory.
func (t *tree) walk(root *os.Root, dir string) error {
	entries, err := list(root, dir, MaxFiles)
	if err != nil {
		return unreadable(dir, err)
	}
	if len(entries) > MaxFiles {
		return refuse(dir, "has too many files: hand in at most %d, and nothing that is built or downloaded", MaxFiles)
	}
	for _, found := range entries {
		name := path.Join(dir, found.Name())
		if leftOut(name) {
			continue
		}
		if found.IsDir() {
			err = t.add(entry{name: name, kind: fs.ModeDir}, nil)
			if err == nil {
				err = t.walk(root, name)
			}
		} else {
			err = t.addFile(root, name, found.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns what is in a directory, by name: at most one entry more than a limit.
func list(root *os.Root, dir string, limit int) ([]fs.DirEntry, error) {
	opened, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	entries, err := opened.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (t *tree) addFile(root *os.Root, name string, kind fs.FileMode) error {
	if special(kind) != "" {
		return t.add(entry{name: name, kind: kind}, nil)
	}
	opened, info, err := openFile(root, name)
	if err != nil {
		return unreadable(name, err)
	}
	defer opened.Close()
	e := entry{name: name, kind: info.Mode().Type(), file: file{executable: info.Mode()&0o100 != 0, modified: info.ModTime()}}
	return t.add(e, opened)
}

// unreadable returns the error for a file that its owner has made so, or has removed meanwhile.
func unreadable(name string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return refuse(name, "can't be read (%v): make it readable, and don't change the directory meanwhile", err)
}

// openFile opens a file that may have become a link or a pipe: the one is not followed, and the other does not block.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	opened, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := opened.Stat()
	if err != nil {
		_ = opened.Close()
		return nil, nil, err
	}
	return opened, info, nil
}
