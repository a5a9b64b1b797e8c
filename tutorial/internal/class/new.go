package class

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// template is a new class.yaml, with the name of the class, its first assignment and a time.
const template = `# A class: who is in it is in roster.csv. make class-handout and make class-collect work on it.
name: %s
# Where the copies report to, if you show a live board on this computer:
# board: http://192.168.1.10:8090
assignments:
- %s
  # Each of these may be left out.
  due: %s
  grace: 15m        # so much later is not late yet
  latePerDay: 10    # percent of the points, for each day that has begun
  # points: 10      # what all features earn together. Without it, each earns 1, or what features says:
  # features: {TestAvailable: 2}
  # pairs: true     # those with the same name in the roster's column pair hand in together
  # attempts: 3     # any number if left out
  # counts: best    # or last
`

// New makes dir, which must not exist or be empty, a class with one assignment: a chapter, or a lab if lab is its name. The students
// are those of the file roster; if that is empty, the roster is empty, too. now decides when the assignment is due, in a week.
func New(ctx context.Context, root, dir, assignment, roster string, now time.Time) (_ *Class, err error) {
	defer func() { err = Explain(ctx, err) }()
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: name a new or empty directory", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := keptOutOfGit(ctx, whole); err != nil {
		return nil, err
	}
	students := []byte(rosterHeader + "\n")
	if roster != "" {
		if students, err = os.ReadFile(roster); err != nil {
			return nil, err
		}
		if _, err := parseRoster(roster, students); err != nil {
			return nil, err
		}
	}
	of, err := courseOf(root)
	if err != nil {
		return nil, err
	}
	all := strings.Join(slices.Concat(of.stages, of.labs), ", ")
	first := "stage: " + assignment
	switch {
	case assignment == "":
		return nil, fmt.Errorf("name what the class begins with, STAGE=NN-name or LAB=name: one of %s", all)
	case of.chapterOf[assignment] != "":
		first = "lab: " + assignment
	case !slices.Contains(of.stages, assignment):
		if err := chapter.RenamedError(root, assignment); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("there is no chapter or lab %q to hand out: use one of %s", assignment, all)
	}
	if err := os.MkdirAll(filepath.Dir(whole), 0o755); err != nil {
		return nil, err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(whole), ".class-") // only its owner may look into it
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fresh)
	due := now.AddDate(0, 0, 7).Format(time.RFC3339)
	err = errors.Join(
		newSecret(filepath.Join(fresh, SecretFile)),
		os.WriteFile(filepath.Join(fresh, RosterFile), students, 0o600),
		os.WriteFile(filepath.Join(fresh, File), fmt.Appendf(nil, template, strconv.Quote(filepath.Base(whole)), first, due), 0o600),
	)
	for _, directory := range []string{Release, Submitted, Graded, Feedback} {
		err = errors.Join(err, os.Mkdir(filepath.Join(fresh, directory), 0o700))
	}
	if err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, whole); err != nil {
		return nil, err
	}
	return Read(root, dir)
}

// keptOutOfGit returns an error if a directory is in a git repository that would take it in: a class has names, grades and a secret,
// and repositories are published.
func keptOutOfGit(ctx context.Context, dir string) error {
	above := filepath.Dir(dir)
	for {
		if info, err := os.Stat(above); err == nil && info.IsDir() {
			break
		}
		above = filepath.Dir(above)
	}
	check := exec.CommandContext(ctx, "git", "check-ignore", "--quiet", dir+string(filepath.Separator))
	check.Dir = above
	err := check.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return fmt.Errorf("%s is in a git repository, which could publish names and grades: "+
			"name a directory outside, or add it to .gitignore", dir)
	}
	return ctx.Err() // not in a repository, ignored there, or there is no git
}
