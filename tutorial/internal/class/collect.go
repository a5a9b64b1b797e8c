package class

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// attemptsDir has the older attempts of a student.
const attemptsDir = ".attempts"

// Attempt is a submission as it was collected. It is in submission.CollectedFile, next to the submission's files.
type Attempt struct {
	// Number counts a student's attempts, from 1.
	Number int `json:"number"`
	// At is when it was collected, and From what it was collected from.
	At   time.Time `json:"at"`
	From string    `json:"from"`
	// Submission is the hash of its files, and Commit that of a repository.
	Submission string `json:"submission,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Refused is the sentence that says why it was not accepted, or empty. There are no files then.
	Refused string `json:"refused,omitempty"`
	// Dir is the directory with its files.
	Dir string `json:"-"`
}

// Attempts returns the attempts of a student, the oldest first. There are none if nothing was handed in.
func (c *Class) Attempts(a Assignment, s Student) ([]Attempt, error) {
	older := filepath.Join(c.Dir, Submitted, s.ID, attemptsDir, a.Name())
	entries, err := os.ReadDir(older)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	directories := []string{filepath.Join(c.Dir, Submitted, s.ID, a.Name())}
	for _, entry := range entries {
		directories = append(directories, filepath.Join(older, entry.Name()))
	}
	var attempts []Attempt
	for _, dir := range directories {
		file := filepath.Join(dir, submission.CollectedFile)
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		attempt := Attempt{}
		if err == nil {
			err = json.Unmarshal(text, &attempt)
		}
		if err != nil {
			return nil, fmt.Errorf("%s can't be read: delete its directory and collect again: %w", file, err)
		}
		attempt.Dir = dir
		attempts = append(attempts, attempt)
	}
	slices.SortFunc(attempts, func(a, b Attempt) int { return a.Number - b.Number })
	return attempts, nil
}

// Counting returns those of a student's attempts that can count: the newest, or all where the best one counts.
func (a Assignment) Counting(attempts []Attempt) []Attempt {
	if a.Counts == Best || len(attempts) == 0 {
		return attempts
	}
	return attempts[len(attempts)-1:]
}

// Outcome is what has become of a student's submission when it was collected.
type Outcome string

const (
	// Collected means that there is a new attempt.
	Collected Outcome = "collected"
	// Refused means that there is a new attempt, which can't be graded.
	Refused Outcome = "refused"
	// Unchanged means that it is the newest attempt still, which keeps its time.
	Unchanged Outcome = "unchanged"
	// Surplus means that the student has had all attempts. The submission was not kept.
	Surplus Outcome = "surplus"
	// NotBegun means that it is what was handed out, which does not count as an attempt.
	NotBegun Outcome = "not begun"
	// Missing means that there is nothing.
	Missing Outcome = "missing"
)

// Collection is what has become of one student's submission.
type Collection struct {
	Student Student
	Outcome Outcome
	// Note is a sentence for the teacher, or empty: why it was refused, or what is odd about it.
	Note string
}

// From returns the directory that is collected from: the one that was named, or that of what was handed out if none was.
func (c *Class) From(a Assignment, named string) string {
	if named == "" {
		return filepath.Join(c.Dir, Release, a.Name())
	}
	return named
}

// Collect takes in what the students have handed in for an assignment, from the directory from. It looks there for <id>, <id>.tar.gz
// or <id>.git, as form says, and for <id>-<assignment> with the same endings. An empty from means what was handed out. now is
// when they were handed in. A submission that is missing or refused is not an error.
func Collect(ctx context.Context, root string, c *Class, a Assignment, from string, form Form, now time.Time) (_ []Collection, err error) {
	defer func() { err = Explain(ctx, err) }()
	from = c.From(a, from)
	suffix, err := form.suffix()
	if err == nil {
		err = c.needStudents()
	}
	if err == nil {
		_, err = os.ReadDir(from)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no directory %s: name the one with what was handed in, FROM=directory", from)
	}
	if err != nil {
		return nil, err
	}
	unlock, err := Lock(c.Dir, "make class-collect")
	if err != nil {
		return nil, err
	}
	defer unlock()
	collector := collector{class: c, assignment: a, root: root, form: form, now: now.UTC()}
	if collector.handedOut, err = c.handedOut(a); err != nil {
		return nil, err
	}
	var all []Collection
	for _, team := range c.teams(a) {
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		found, err := collector.collect(ctx, team, source(from, team, a.Name(), suffix))
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// source returns what a team has handed in: what has the id of its first member who has any. It is empty if there is nothing.
func source(from string, team []Student, assignment, suffix string) string {
	for _, s := range team {
		candidates := []string{s.ID + "-" + assignment + suffix, s.ID + suffix}
		// As this package and nbgrader keep them. A student could have made the outer directory a link to another's.
		if info, err := os.Lstat(filepath.Join(from, s.ID)); suffix == "" && err == nil && info.IsDir() {
			candidates = slices.Insert(candidates, 0, filepath.Join(s.ID, assignment))
		}
		if suffix == ".git" { // with files
			candidates = append(candidates, s.ID)
		}
		for _, candidate := range candidates {
			if _, err := os.Lstat(filepath.Join(from, candidate)); err == nil {
				return filepath.Join(from, candidate)
			}
		}
	}
	return ""
}

// collector collects one assignment.
type collector struct {
	class      *Class
	assignment Assignment
	root       string
	form       Form
	now        time.Time
	handedOut  []string // the hashes of what was handed out
}

// collect takes in what a team has handed in, for each of its members.
func (c collector) collect(ctx context.Context, team []Student, from string) ([]Collection, error) {
	var all []Collection
	if from == "" {
		for _, s := range team {
			all = append(all, Collection{Student: s, Outcome: Missing})
		}
		return all, nil
	}
	work := filepath.Join(c.class.Dir, workDir, team[0].ID)
	attempt, note, err := c.accept(ctx, from, filepath.Join(work, "files"))
	if err != nil {
		return nil, err
	}
	for i, s := range team {
		outcome, err := c.keep(s, attempt, filepath.Join(work, "files"), filepath.Join(work, strconv.Itoa(i)))
		if err != nil {
			return all, err
		}
		all = append(all, Collection{Student: s, Outcome: outcome, Note: note})
	}
	return all, os.RemoveAll(work)
}

// accept makes the new directory files what was handed in, and returns what there is to know about it.
func (c collector) accept(ctx context.Context, from, files string) (attempt Attempt, note string, err error) {
	attempt = Attempt{At: c.now, From: from}
	switch c.form {
	case Archives:
		err = submission.Unpack(c.root, from, files)
	case Repositories:
		attempt.Commit, err = submission.Clone(ctx, c.root, from, files)
	default:
		err = submission.Copy(c.root, from, files)
	}
	if refused, ok := errors.AsType[*submission.RefusedError](err); ok {
		attempt.Refused = refused.Error()
		return attempt, attempt.Refused, os.MkdirAll(files, 0o755)
	}
	if err != nil {
		return attempt, "", err
	}
	if attempt.Submission, err = submission.Hash(files); err != nil {
		return attempt, "", err
	}
	if is := c.madeFor(files); is != c.assignment.Name() {
		note = fmt.Sprintf("the copy was made for %s, and is graded as %s", is, c.assignment.Name())
	}
	return attempt, note, nil
}

// madeFor returns what a copy says that it is for. A student can change that, so nothing depends on it.
func (c collector) madeFor(files string) string {
	for _, name := range []string{submission.LabFile, submission.StageFile} {
		if text, err := os.ReadFile(filepath.Join(files, name)); err == nil {
			return chapter.Current(c.root, strings.TrimSpace(string(text)))
		}
	}
	return ""
}

// keep makes an attempt the newest of a student's.
func (c collector) keep(s Student, attempt Attempt, files, fresh string) (Outcome, error) {
	before, err := c.class.Attempts(c.assignment, s)
	if err != nil {
		return "", err
	}
	accepted := 0
	for _, earlier := range before {
		if earlier.Refused == "" {
			accepted++
		}
	}
	attempt.Number = 1
	if len(before) > 0 {
		newest := before[len(before)-1]
		if newest.Submission == attempt.Submission && newest.Refused == attempt.Refused {
			return Unchanged, nil
		}
		attempt.Number = newest.Number + 1
	}
	if attempt.Refused == "" && slices.Contains(c.handedOut, attempt.Submission) {
		return NotBegun, nil
	}
	if limit := c.assignment.Attempts; limit > 0 && accepted >= limit {
		return Surplus, nil
	}
	text, err := json.MarshalIndent(attempt, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(fresh, os.DirFS(files)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(fresh, submission.CollectedFile), append(text, '\n'), 0o600); err != nil {
		return "", err
	}
	// Where this is interrupted between the two, the next collection adds what is missing.
	current := filepath.Join(c.class.Dir, Submitted, s.ID, c.assignment.Name())
	if len(before) > 0 && before[len(before)-1].Dir == current {
		older := filepath.Join(c.class.Dir, Submitted, s.ID, attemptsDir, c.assignment.Name(), strconv.Itoa(attempt.Number-1))
		if err := replace(current, older); err != nil {
			return "", err
		}
	}
	if err := replace(fresh, current); err != nil {
		return "", err
	}
	if attempt.Refused != "" {
		return Refused, nil
	}
	return Collected, nil
}
