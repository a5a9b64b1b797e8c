// Package nights remembers which parts of make nightly have passed, on which commit and when.
package nights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/example/operator-testbed/scripts/runner/git"
)

// entry is the last result of a part on a commit.
type entry struct {
	Part   string    `json:"part"`
	Commit string    `json:"commit"`
	Passed bool      `json:"passed"`
	At     time.Time `json:"at"`
	Took   int       `json:"seconds"`
}

// kept is for how many commits a part's results are kept.
const kept = 50

// Record is the record of this machine and user.
type Record struct {
	path   string
	commit string
	now    func() time.Time

	mu      sync.Mutex
	entries []entry // the newest last
	err     error   // the first that was met while writing
}

// Open reads the record in a file, which may be missing, for a run on the commit that is checked out in root. A tree with changes has the
// name of its commit with a plus sign.
func Open(ctx context.Context, root, path string) (*Record, error) {
	commit, err := git.Output(ctx, root, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return nil, err
	}
	changed, err := git.Output(ctx, root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	commit = strings.TrimSpace(commit)
	if changed != "" {
		commit += "+"
	}
	return open(path, commit)
}

func open(path, commit string) (*Record, error) {
	r := &Record{path: path, commit: commit, now: time.Now}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.entries)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of nightly runs, %s: %w", path, err)
	}
	return r, nil
}

// Ended notes the result of a part, at once, because a run takes hours.
func (r *Record) Ended(part string, passed bool, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = slices.DeleteFunc(r.entries, func(e entry) bool { return e.Part == part && e.Commit == r.commit })
	r.entries = append(r.entries, entry{Part: part, Commit: r.commit, Passed: passed, At: r.now().UTC().Truncate(time.Second), Took: int(took.Seconds())})
	count := 0
	for i, e := range slices.Backward(r.entries) {
		if e.Part == part {
			if count++; count > kept {
				r.entries = slices.Delete(r.entries, i, i+1)
			}
		}
	}
	if err := r.write(); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the record of nightly runs: %w", err)
	}
}

func (r *Record) write() error {
	text, err := json.MarshalIndent(r.entries, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o755); err != nil {
		return err
	}
	temporary := r.path + ".new"
	if err := os.WriteFile(temporary, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, r.path)
}

// Err returns the first error of writing the record.
func (r *Record) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Table says when each of the parts has last passed, and what became of it on this commit.
func (r *Record) Table(parts []string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "Which parts of make nightly have passed, from %s (scripts/run nights prints it):\n", r.path)
	fmt.Fprintf(&b, "%-22s %-17s %-14s %8s  on %s\n", "part", "last passed, UTC", "on commit", "took", r.commit)
	for _, part := range parts {
		last, here := entry{}, "not run"
		for _, e := range r.entries {
			if e.Part != part {
				continue
			}
			if e.Passed {
				last = e
			}
			if e.Commit == r.commit {
				here = map[bool]string{true: "passed", false: "failed"}[e.Passed]
			}
		}
		at, commit, took := "never", "", ""
		if last.Part != "" {
			at, commit, took = last.At.Format("2006-01-02 15:04"), last.Commit, fmt.Sprintf("%d min", (last.Took+59)/60)
		}
		fmt.Fprintf(&b, "%-22s %-17s %-14s %8s  %s\n", part, at, commit, took, here)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
