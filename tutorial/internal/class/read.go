package class

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// written is class.yaml as it is written.
type written struct {
	Name        string              `json:"name"`
	Board       string              `json:"board,omitempty"`
	Assignments []writtenAssignment `json:"assignments"`
}

type writtenAssignment struct {
	Stage      string             `json:"stage,omitempty"`
	Lab        string             `json:"lab,omitempty"`
	Points     *float64           `json:"points,omitempty"`
	Features   map[string]float64 `json:"features,omitempty"`
	Due        string             `json:"due,omitempty"`
	Grace      string             `json:"grace,omitempty"`
	LatePerDay *int               `json:"latePerDay,omitempty"`
	Pairs      bool               `json:"pairs,omitempty"`
	Attempts   *int               `json:"attempts,omitempty"`
	Counts     Counts             `json:"counts,omitempty"`
}

// Read reads the class in a directory, and its roster and secret. root is the repository, whose chapters and labs can be assigned.
// The error has a sentence for each mistake.
func Read(root, dir string) (*Class, error) {
	text, err := os.ReadFile(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the directory of a class, which has a %s: make class-new DIR=%[1]s makes one", dir, File)
	}
	if err != nil {
		return nil, err
	}
	c := &Class{Dir: dir}
	if err := c.parse(root, filepath.Join(dir, File), text); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, RosterFile)
	roster, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: write a line %s, and one for each student", file, rosterHeader)
	}
	if err != nil {
		return nil, err
	}
	if c.Students, err = parseRoster(file, roster); err != nil {
		return nil, err
	}
	c.sign, err = readSecret(filepath.Join(dir, SecretFile))
	return c, err
}

// parse reads class.yaml.
func (c *Class) parse(root, file string, text []byte) error {
	var from written
	if err := yaml.UnmarshalStrict(text, &from); err != nil {
		return fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	wrong := &mistakes{file: file + ": "}
	c.Name, c.Board = from.Name, from.Board
	if !named(c.Name) {
		wrong.add("the name %q is empty, longer than 100 bytes or has invisible characters: give the class one such as ops-2026", c.Name)
	}
	if c.Board != "" {
		address, err := url.Parse(c.Board)
		if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
			wrong.add("the board %q is not an address: give one such as http://192.168.1.10:8090", c.Board)
		}
	}
	if len(from.Assignments) == 0 {
		wrong.add("it has no assignments: list one such as {stage: 04-status}")
	}
	course, err := courseOf(root)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, assigned := range from.Assignments {
		wrong.file = fmt.Sprintf("%s: assignment %d: ", file, i+1)
		a := assigned.read(course, wrong)
		if name := a.Name(); seen[name] && name != "" {
			wrong.add("%s is assigned twice: leave one out", name)
		}
		seen[a.Name()] = true
		c.Assignments = append(c.Assignments, a)
	}
	return wrong.err()
}

// course is what can be assigned: the chapters with a copy to work on, and the chapters of the labs by their names.
type course struct {
	root         string
	stages, labs []string
	chapterOf    map[string]string
}

func courseOf(root string) (course, error) {
	of := course{root: root, chapterOf: map[string]string{}}
	chapters, err := chapter.ReadAll(filepath.Join(root, "tutorial"))
	if err != nil {
		return of, err
	}
	for _, c := range chapters {
		_, gaps, err := exercises.Gaps(root, c)
		if err != nil {
			return of, err
		}
		if gaps || c.BuildsOn != "" {
			of.stages = append(of.stages, c.Name)
		}
	}
	faults, err := exercises.Faults(root)
	for _, fault := range faults {
		of.labs = append(of.labs, fault.Name)
		of.chapterOf[fault.Name] = fault.Chapter
	}
	return of, err
}

// read returns the assignment, and adds its mistakes to wrong.
func (w writtenAssignment) read(from course, wrong *mistakes) Assignment {
	a := Assignment{Stage: w.Stage, Lab: w.Lab, Features: w.Features, Pairs: w.Pairs, Counts: w.Counts}
	renamed := chapter.RenamedError(from.root, a.Stage)
	switch {
	case (a.Stage == "") == (a.Lab == ""):
		wrong.add("it needs either a stage or a lab: give one such as stage: 04-status")
	case a.Lab != "" && !slices.Contains(from.labs, a.Lab):
		wrong.add("there is no lab %s: use one of %s", a.Lab, strings.Join(from.labs, ", "))
	case renamed != nil:
		wrong.add("%v", renamed)
	case a.Stage != "" && !slices.Contains(from.stages, a.Stage):
		wrong.add("there is no chapter %s with a copy to work on: use one of %s", a.Stage, strings.Join(from.stages, ", "))
	}
	if a.Lab != "" {
		a.Stage = from.chapterOf[a.Lab]
	}
	if w.Points != nil {
		a.Points = *w.Points
		if !(a.Points > 0) || math.IsInf(a.Points, 0) {
			wrong.add("points is %v: give what all features earn together, such as 10", a.Points)
		}
		if len(w.Features) > 0 {
			wrong.add("it has both points and features: give the sum, or the points of each feature")
		}
	}
	for feature, points := range w.Features {
		if !(points >= 0) || math.IsInf(points, 0) {
			wrong.add("the feature %s has %v points: give 0 or more", feature, points)
		}
	}
	a.Due, a.Grace, a.LatePerDay = w.readLate(wrong)
	if w.Attempts != nil {
		if a.Attempts = *w.Attempts; a.Attempts < 1 {
			wrong.add("attempts is %d: give 1 or more, or leave it out for any number", a.Attempts)
		}
	}
	switch a.Counts {
	case "":
		a.Counts = Last
	case Last, Best:
	default:
		wrong.add("counts is %q: use %s or %s", a.Counts, Last, Best)
	}
	return a
}

func (w writtenAssignment) readLate(wrong *mistakes) (due time.Time, grace time.Duration, perDay int) {
	var err error
	if w.Due != "" {
		if due, err = time.Parse(time.RFC3339, w.Due); err != nil {
			wrong.add("due is %q: give a time with its zone, such as 2026-12-01T18:00:00+01:00", w.Due)
		}
	}
	if w.Grace != "" {
		if grace, err = time.ParseDuration(w.Grace); err != nil || grace < 0 {
			wrong.add("grace is %q: give a duration such as 15m", w.Grace)
		}
	}
	if w.LatePerDay != nil {
		if perDay = *w.LatePerDay; perDay < 0 || perDay > 100 {
			wrong.add("latePerDay is %d: give a percentage from 0 to 100", perDay)
		}
	}
	if w.Due == "" && (w.Grace != "" || perDay != 0) {
		wrong.add("it has grace or latePerDay, and no due: say when it is due")
	}
	return due, grace, perDay
}

// named reports whether text is a name for people to read.
func named(text string) bool {
	return text != "" && len(text) <= 100 && strings.TrimSpace(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// studentID is what an id looks like. It is a part of paths.
var studentID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
