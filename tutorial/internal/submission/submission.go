// Package submission packs, reads and judges what students hand in: a directory, an archive or a git repository. All of it is
// hostile until shown otherwise.
//
// Whatever the form, the files are read into memory first, within limits. Nothing is written before [Judge] accepts
// them, and no program of a student's runs: git never runs in a submitted directory or repository. Files that do not belong to a
// submission, such as bin/, .git/ and those of editors, are neither checked nor copied, so build what [Copy], [Unpack] or [Clone] has
// written, and never the directory that a student can still write to.
package submission

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a submission. The finished operator has 180 files with 800 KiB in all; its largest has 31 KiB.
const (
	// MaxFiles is how many files and directories a submission may have.
	MaxFiles = 2000
	// MaxFileBytes is how large one of its files may be.
	MaxFileBytes = 1 << 20
	// MaxBytes is how large all of them may be, uncompressed.
	MaxBytes = 16 << 20
	// MaxRepositoryBytes is how large the objects of a repository may be, compressed, with all of its history. MaxObjects is how many
	// files they may be in.
	MaxRepositoryBytes = 64 << 20
	MaxObjects         = 20000
)

// Files with a meaning for the commands of a learner and a teacher, in the directory of a copy.
const (
	// StageFile has the name of the chapter.
	StageFile = ".stage"
	// LabFile has the name of the break-it lab, if the copy is for one.
	LabFile = ".lab"
	// HintsFile has the numbers of the hints that were printed.
	HintsFile = ".hints"
	// RecordFile is the [Record] in an archive.
	RecordFile = ".submission"
	// CollectedFile is what a teacher's commands note about a submission next to its files. A student's own is ignored.
	CollectedFile = ".collected"
)

// RefusedError says why a submission is not accepted. Any other error of this package is about the machine, and not the student's.
type RefusedError struct {
	// File is the name of the file that is the reason, and Reason the rest of the sentence.
	File, Reason string
}

func (e *RefusedError) Error() string { return printable(e.File) + " " + e.Reason }

func refuse(file, reason string, arguments ...any) error {
	return &RefusedError{File: file, Reason: fmt.Sprintf(reason, arguments...)}
}

// printable returns a text as it is, or quoted if it has characters that a terminal would not print as themselves.
func printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	return strconv.QuoteToASCII(text)
}

// Judge returns a *[RefusedError] unless the files in a directory may be graded. root is the repository, whose go.mod says what a
// copy may require.
func Judge(root, dir string) error {
	t, err := readDirectory(dir)
	if err != nil {
		return err
	}
	return t.judge(root)
}

// Hash returns "sha256:" and 64 hexadecimal digits, computed from the names and contents of a submission's files. What the commands
// of a learner note in it, such as which hints were printed, is left out, so that it does not make another submission of it.
func Hash(dir string) (string, error) {
	t, err := readDirectory(dir)
	if err != nil {
		return "", err
	}
	return t.hash(), nil
}

// Copy makes dir, which must not exist, a copy of the submission in the directory from.
func Copy(root, from, dir string) error {
	t, err := readDirectory(from)
	if err != nil {
		return err
	}
	return t.accept(root, dir)
}

// accept judges the files, and writes them.
func (t *tree) accept(root, dir string) error {
	if err := t.judge(root); err != nil {
		return err
	}
	return t.write(dir)
}

// write makes dir a directory with the files. There is either all of it or nothing.
func (t *tree) write(dir string) (err error) {
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("there is a %s already: name a new directory", dir)
	}
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".submission-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fresh := filepath.Join(work, "files")
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	for name, file := range t.files {
		path := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, file.content, file.mode()); err != nil {
			return err
		}
	}
	return os.Rename(fresh, dir)
}
