package submission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/tutorial/internal/event"
)

// RecordSchema names the format of [Record].
const RecordSchema = "lab-submission/v1"

// Record says what is in an archive, as JSON in RecordFile. A student could write anything there: it is for people to read, and no
// grade depends on it.
type Record struct {
	Schema string `json:"schema"`
	// Stage is the chapter, and Lab the break-it lab if the copy is for one.
	Stage string `json:"stage"`
	Lab   string `json:"lab,omitempty"`
	// Student is the student's id, where the copy was handed out in a class.
	Student string `json:"student,omitempty"`
	// Submission is the [Hash] of the files, and Commit what is checked out if the copy is a git repository.
	Submission string `json:"submission"`
	Commit     string `json:"commit,omitempty"`
	// LastCheck is the last make check, if there was one, and Hints how many hints were printed.
	LastCheck *Check `json:"lastCheck,omitempty"`
	Hints     int    `json:"hints"`
}

// Check is the result of a make check, as a line of [event.File] has it.
type Check struct {
	At          time.Time `json:"at"`
	Outcome     string    `json:"outcome"`
	Passed      int       `json:"passed"`
	Of          int       `json:"of"`
	FirstFailed string    `json:"first_failed,omitempty"`
	Only        string    `json:"only,omitempty"`
	TookMS      int64     `json:"took_ms,omitempty"`
}

// Packed is what Pack has done.
type Packed struct {
	Record
	// Archive is the path of the archive.
	Archive string
	// Files are the names of the packed files, in order.
	Files []string
	// Changed is a file that was changed after the last check had started, or empty.
	Changed string
}

// Pack writes an archive of the submission in a directory, after checking it as [Judge] does. An empty archive means a file next to
// the directory, named after the student and what the copy is for, as class.Collect looks for it. Two archives of the same files are
// equal, byte by byte. What Pack returns is for the student to read.
func Pack(root, dir, archive string) (Packed, error) {
	t, err := readDirectory(dir)
	if err != nil {
		return Packed{}, err
	}
	if err := t.judge(root); err != nil {
		return Packed{}, err
	}
	packed := Packed{Record: t.record(), Archive: archive}
	if packed.Student, packed.Commit, err = about(dir); err != nil {
		return Packed{}, err
	}
	if packed.LastCheck != nil {
		packed.Changed = t.changedSince(packed.LastCheck.At.Add(-time.Duration(packed.LastCheck.TookMS) * time.Millisecond))
	}
	text, err := json.MarshalIndent(packed.Record, "", "  ")
	if err != nil {
		return Packed{}, err
	}
	t.files[RecordFile] = file{content: append(text, '\n')}
	packed.Files = t.names()
	if archive == "" {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return Packed{}, err
		}
		owner := filepath.Base(whole)
		if plainName.MatchString(packed.Student) {
			owner = packed.Student
		}
		packed.Archive = filepath.Join(dir, "..", owner+"-"+cmp.Or(packed.Lab, packed.Stage)+".tar.gz")
	}
	return packed, t.writeArchive(packed.Archive)
}

// record returns what the files say about themselves.
func (t *tree) record() Record {
	record := Record{
		Schema: RecordSchema, Submission: t.hash(),
		Stage: strings.TrimSpace(string(t.files[StageFile].content)), Lab: strings.TrimSpace(string(t.files[LabFile].content)),
	}
	for text := range bytes.Lines(t.files[event.File].content) {
		var line struct {
			Kind event.Kind `json:"kind"`
			Check
		}
		// A line that was being written when the machine stopped is not one.
		if json.Unmarshal(text, &line) == nil && line.Kind == event.Check {
			record.LastCheck = &line.Check
		}
	}
	printed := map[string]int{}
	if json.Unmarshal(t.files[HintsFile].content, &printed) == nil {
		for _, hints := range printed {
			record.Hints += hints
		}
	}
	return record
}

// changedSince returns the first source that was changed after a time.
func (t *tree) changedSince(at time.Time) string {
	names := t.names()
	i := slices.IndexFunc(names, func(name string) bool {
		return !noted(name) && name != StageFile && name != LabFile && t.files[name].modified.After(at)
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// about returns whose copy a directory is, where it was handed out, and the commit that is checked out, where it is a git repository.
func about(dir string) (student, commit string, err error) {
	root, err := openDirectory(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	var class event.Class
	_ = yaml.Unmarshal([]byte(smallFile(root, event.ClassFile)), &class)
	if git, err := root.OpenRoot(".git"); err == nil {
		defer git.Close()
		commit = head(git)
	}
	return class.Student, commit, nil
}

var (
	commitID  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	branch    = regexp.MustCompile(`^refs/heads/[^\x00-\x20~^:?*\[\\\x7f]+$`)
)

// head returns the commit that a git repository has as HEAD, or nothing. It reads the files, because git itself would run programs
// that the repository's configuration names.
func head(git *os.Root) string {
	text := smallFile(git, "HEAD")
	if commitID.MatchString(text) {
		return text
	}
	ref, ok := strings.CutPrefix(text, "ref: ")
	if !ok || !branch.MatchString(ref) || strings.Contains(ref, "..") {
		return ""
	}
	if text := smallFile(git, ref); commitID.MatchString(text) {
		return text
	}
	for packed := range strings.Lines(smallFile(git, "packed-refs")) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(packed), " "); name == ref && commitID.MatchString(commit) {
			return commit
		}
	}
	return ""
}

// smallFile returns the content of a file without the spaces around it, or nothing if it can't be read.
func smallFile(root *os.Root, name string) string {
	opened, info, err := openFile(root, name)
	if err != nil {
		return ""
	}
	defer opened.Close()
	if !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(opened, MaxFileBytes))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
