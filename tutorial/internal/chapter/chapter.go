// Package chapter reads the chapters of the tutorial: the chapter.yaml of each, and in which files it differs from the one
// that it builds on.
package chapter

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is the name of the file that describes a chapter, in its directory.
const File = "chapter.yaml"

// Chapter is what a chapter.yaml says.
type Chapter struct {
	// Name is the name of the chapter's directory, such as "03-controller" or "quickstart".
	Name string `json:"-"`
	// Title is the chapter's heading.
	Title string `json:"title"`
	// Outcome is what its reader can do afterwards: "You can ..." goes on so.
	Outcome string `json:"outcome"`
	// BuildsOn is the chapter whose code this one's began as; empty means that it began with nothing.
	BuildsOn string `json:"buildsOn,omitempty"`
	// After is the chapter that its reader has read before. Empty means the one that it builds on, or that it can be the first. A chapter
	// without a number comes directly after it.
	After string `json:"after,omitempty"`
	// Track is its track, which the index explains. Empty means that of the chapter that it builds on.
	Track string `json:"track,omitempty"`
	// Changes are the files that this chapter adds to that code, changes or removes. A name that ends with a slash means all
	// files in that directory.
	Changes []string `json:"changes,omitempty"`
	// Steps are the changes of a chapter whose text explains them in several parts, in place of Changes. Each file is in one.
	Steps []Step `json:"steps,omitempty"`
	// Operator is the directory of its operator, relative to the repository; empty means the chapter's own.
	Operator string `json:"operator,omitempty"`
	// Suite is the directory of its suite, relative to the repository; empty means test/e2e in the chapter's own.
	Suite string `json:"suite,omitempty"`
	// Tests is the package, relative to its operator, whose tests its reader writes, and its suite tries. Empty means none.
	Tests string `json:"tests,omitempty"`
	// Minutes is how long it takes to read and do, as a test computes it from the text.
	Minutes int `json:"minutes"`
	// Runs are the ways in which its operator runs.
	Runs []Way `json:"runs"`
	// Needs is what its commands run on.
	Needs Need `json:"needs"`
	// Fails are the features of its suite that show that there is something to do, because the operator that a learner starts with
	// does not pass them. The value is a part of the failure's message. A chapter that starts with gaps of its own needs none.
	Fails map[string]string `json:"fails,omitempty"`
	// Features are the features of its suite, by the names of their test functions. A chapter with another's suite has none.
	Features map[string]Feature `json:"features,omitempty"`
	// Tasks are what a learner writes, in this order, to get from what make start gives to what the chapter ends with.
	Tasks []Task `json:"tasks,omitempty"`
	// Hints are what helps with each of its exercises, in their order: Steps sentences, each of which gives away more.
	Hints [][]string `json:"hints,omitempty"`
}

// Step is a part of what a chapter changes, for a reader who would lose the way in all of it.
type Step struct {
	// Title says what it does.
	Title string `json:"title"`
	// Files are named as in Changes. A pattern as of path.Match is possible, too.
	Files []string `json:"files"`
}

// Feature describes a feature of a chapter's suite to a learner.
type Feature struct {
	// Claim is the sentence that the feature proves about an operator.
	Claim string `json:"claim"`
	// Hint is where to look first if the feature does not hold.
	Hint string `json:"hint"`
}

// Task is a part of what a learner writes.
type Task struct {
	// Goal says what to write.
	Goal string `json:"goal"`
	// File is where to write it, relative to the operator.
	File string `json:"file"`
	// Declarations are what to write in a Go file, a method as Type.Method; none means the whole file.
	Declarations []string `json:"declarations,omitempty"`
	// Hints help with it. One more follows, the last: how the chapter does it.
	Hints []string `json:"hints"`
}

// Steps is how many hints there are for an exercise.
const Steps = 3

// Way is how an operator runs.
type Way string

// The ways in which an operator runs.
const (
	// RunsNone means that there is no operator.
	RunsNone Way = "none"
	// RunsProcess means that it runs on this machine.
	RunsProcess Way = "process"
	// RunsImage means that it runs in the cluster.
	RunsImage Way = "image"
)

// Need is a cluster, as e2e/markdown names it.
type Need string

// The clusters that a chapter's commands may need.
const (
	// NeedsEmbedded means a cluster of simulated nodes: Go, make and git are enough.
	NeedsEmbedded Need = "embedded"
	// NeedsKind means nodes that run containers: Docker as well.
	NeedsKind Need = "kind"
)

// tracks are the parts of the tutorial that can be followed without the others.
var tracks = []string{"build", "operate", "under the hood"}

// name is what a chapter's directory is called. A chapter that is not part of the numbered course has no number.
var name = regexp.MustCompile(`^([0-9]{2}-)?[a-z]+(-[a-z]+)*$`)

// numbered matches the number that a chapter's name starts with.
var numbered = regexp.MustCompile(`^[0-9]{2}-`)

// Read reads the chapter in a directory. Its errors name the file and say how to fix it.
func Read(directory string) (Chapter, error) {
	file := filepath.Join(directory, File)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(RenamedError(filepath.Join(directory, "..", ".."), filepath.Base(directory)), err)
	}
	if err != nil {
		return Chapter{}, err
	}
	c := Chapter{Name: filepath.Base(directory)}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return Chapter{}, fmt.Errorf("reading %s: %w", file, err)
	}
	if err := c.validate(); err != nil {
		return Chapter{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func (c Chapter) validate() error {
	switch {
	case !name.MatchString(c.Name):
		return fmt.Errorf("its directory is called %q: it must be words, such as quickstart, or two digits and words, such as 03-controller", c.Name)
	case c.Title == "":
		return errors.New("it has no title")
	case c.Outcome == "":
		return errors.New("it has no outcome: say what its reader can do afterwards")
	case c.Minutes < 10:
		return fmt.Errorf("minutes is %d: a chapter takes 10 or more", c.Minutes)
	case len(c.Runs) == 0:
		return fmt.Errorf("runs is empty: it lists %s, or %s and %s", RunsNone, RunsProcess, RunsImage)
	case c.Needs != NeedsEmbedded && c.Needs != NeedsKind:
		return fmt.Errorf("needs is %q: it must be %s or %s", c.Needs, NeedsEmbedded, NeedsKind)
	case c.Tests != "" && (!fs.ValidPath(c.Tests) || c.Tests == "."):
		return fmt.Errorf("tests is %q: it must be the directory of a package in the operator, such as internal/controller", c.Tests)
	case c.BuildsOn == "" && len(c.allChanges()) > 0:
		return errors.New("it lists changes, but not what it buildsOn")
	case len(c.Changes) > 0 && len(c.Steps) > 0:
		return errors.New("it lists changes, and steps: give each file in one of them")
	case c.Number() != "" && c.BuildsOn >= c.Name:
		return fmt.Errorf("it buildsOn %s, which does not come before it", c.BuildsOn)
	case c.Number() != "" && c.After >= c.Name:
		return fmt.Errorf("it comes after %s, which does not come before it", c.After)
	case c.Track != "" && !slices.Contains(tracks, c.Track):
		return fmt.Errorf("track is %q: use one of %s", c.Track, strings.Join(tracks, ", "))
	}
	for i, steps := range c.Hints {
		if len(steps) != Steps || slices.Contains(steps, "") {
			return fmt.Errorf("hints has %d for exercise %d: it must have %d", len(steps), i+1, Steps)
		}
	}
	for name, feature := range c.Features {
		if feature.Claim == "" || feature.Hint == "" {
			return fmt.Errorf("the feature %s must have a claim and a hint", name)
		}
	}
	for i, step := range c.Steps {
		if step.Title == "" || len(step.Files) == 0 {
			return fmt.Errorf("step %d must have a title and files", i+1)
		}
	}
	for _, task := range c.Tasks {
		if task.Goal == "" || task.File == "" || len(task.Hints) != Steps-1 || slices.Contains(task.Hints, "") {
			return fmt.Errorf("the task %q must have a goal, a file and %d hints", task.Goal, Steps-1)
		}
	}
	for _, way := range c.Runs {
		if !slices.Contains([]Way{RunsNone, RunsProcess, RunsImage}, way) {
			return fmt.Errorf("runs has %q: it lists %s, or %s and %s", way, RunsNone, RunsProcess, RunsImage)
		}
	}
	return nil
}

// Number returns the two digits that the chapter's name starts with, or "" for a chapter without a number.
func (c Chapter) Number() string { return strings.TrimSuffix(numbered.FindString(c.Name), "-") }

// Label returns what to call the chapter where there is little room: its number, or else its name.
func (c Chapter) Label() string { return Label(c.Name) }

// Label returns the label of the chapter of that name.
func Label(name string) string {
	return cmp.Or(Chapter{Name: name}.Number(), name)
}

// Heading returns the first heading of the chapter's text.
func (c Chapter) Heading() string { return strings.TrimSpace(c.Number() + " " + c.Title) }

// previous returns the chapter that a chapter without a number comes after: the one that it names, or else the one that it builds on. Empty
// means that it comes first.
func (c Chapter) previous() string { return cmp.Or(c.After, c.BuildsOn) }

// inOrder sorts chapters: those with a number by it, and each of the others after the one that it names or builds on, or first if there
// is none.
func inOrder(chapters []Chapter) {
	previous := map[string]string{}
	for _, c := range chapters {
		if c.Number() == "" {
			previous[c.Name] = c.previous()
		}
	}
	// way leads to a chapter from one with a number, or from none. It ends in a circle, too, which ReadAll refuses.
	way := func(name string) []string {
		var names []string
		for range len(chapters) + 1 {
			names = append(names, name)
			before, unnumbered := previous[name]
			if !unnumbered {
				break
			}
			name = before
		}
		slices.Reverse(names)
		return names
	}
	slices.SortStableFunc(chapters, func(a, b Chapter) int { return slices.Compare(way(a.Name), way(b.Name)) })
}

// ReadAll reads the chapters in the tutorial's directory, in their order: those with a number by it, and each of the others after the
// one that it names or builds on, or first if there is none.
func ReadAll(tutorial string) ([]Chapter, error) {
	files, err := filepath.Glob(filepath.Join(tutorial, "*", File))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no chapters (*/%s) in %s", File, tutorial)
	}
	slices.Sort(files)
	var chapters []Chapter
	for _, file := range files {
		c, err := Read(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		chapters = append(chapters, c)
	}
	inOrder(chapters)
	for i, c := range chapters {
		before := func(name string) bool {
			return name == "" || slices.ContainsFunc(chapters[:i], func(other Chapter) bool { return other.Name == name })
		}
		if !before(c.BuildsOn) {
			return nil, fmt.Errorf("%s: it buildsOn %s, which is not a chapter before it", filepath.Join(tutorial, c.Name, File), c.BuildsOn)
		}
		if !before(c.After) {
			return nil, fmt.Errorf("%s: it comes after %s, which is not a chapter before it: name one", filepath.Join(tutorial, c.Name, File), c.After)
		}
	}
	return chapters, nil
}

// OperatorDirectory is the directory of the chapter's operator, relative to the repository, with slashes.
func (c Chapter) OperatorDirectory() string { return cmp.Or(c.Operator, "tutorial/"+c.Name) }

// SuiteDirectory is the directory of the chapter's suite, relative to the repository, with slashes.
func (c Chapter) SuiteDirectory() string { return cmp.Or(c.Suite, "tutorial/"+c.Name+"/test/e2e") }

// allChanges are the files that it adds, changes or removes, whether it has them in steps or not.
func (c Chapter) allChanges() []string {
	changes := slices.Clone(c.Changes)
	for _, step := range c.Steps {
		changes = append(changes, step.Files...)
	}
	return changes
}

// Has returns whether the file is one of the step's.
func (s Step) Has(file string) bool { return matchesAny(s.Files, file) }

func matchesAny(changes []string, file string) bool {
	return slices.ContainsFunc(changes, func(change string) bool { return matches(change, file) })
}

// matches returns whether a change means the file: it is its name or a pattern, or the name of a directory that it is in.
func matches(change, file string) bool {
	fits, err := path.Match(change, file)
	return err == nil && fits || strings.HasSuffix(change, "/") && strings.HasPrefix(file, change)
}
