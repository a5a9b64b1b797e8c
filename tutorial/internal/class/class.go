// Package class hands out copies to a class, and collects them. A class is a directory with nbgrader's layout:
//
//	class.yaml                    name, assignments, the board's address
//	roster.csv                    the students: id,name,email[,pair]
//	secret                        what seeds and tokens are computed from, for its owner's eyes only
//	adjustments.yaml              points and comments given by hand, which grading reads and never writes
//	release/<assignment>/         what was handed out: <id>, <id>.tar.gz or <id>.git
//	submitted/<id>/<assignment>/  the newest submission
//	submitted/<id>/.attempts/     older ones, <assignment>/<number>
//	graded/, feedback/            what grading writes
//	.handed-out/, .exports        hashes of what was handed out, and exported
//
// An assignment is a chapter, or a break-it lab, and named after it. One command at a time changes a class: see [Lock]. All of them
// write beside and rename, so one that is interrupted can be run again, and nothing that was there is lost.
package class

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Names in the directory of a class.
const (
	File            = "class.yaml"
	RosterFile      = "roster.csv"
	SecretFile      = "secret"
	AdjustmentsFile = "adjustments.yaml"
	Release         = "release"
	Submitted       = "submitted"
	Graded          = "graded"
	Feedback        = "feedback"
)

// Class is a class as its files describe it.
type Class struct {
	// Dir is the directory of the class.
	Dir string
	// Name is the name of the class, such as "ops-2026".
	Name string
	// Board is the address of the board that copies report to, such as "http://192.168.1.10:8090". It is empty if there is none.
	Board string
	// Students are the students, in the roster's order.
	Students []Student
	// Assignments are the assignments, in the order of class.yaml.
	Assignments []Assignment

	// sign computes a message authentication code with the secret. A function, because a value would be printed with the class.
	sign func(purpose string, parts ...string) []byte
}

// Student is a line of the roster.
type Student struct {
	// ID names the student in directories and results. It has letters, digits, dots, hyphens and underscores of ASCII only.
	ID string
	// Name and Email are for gradebooks. Email may be empty.
	Name, Email string
	// Pair is the same for all who hand in together where an assignment is for pairs. It is empty for those who work on their own.
	Pair string
}

// Counts says which attempt counts.
type Counts string

const (
	// Last means that the newest attempt counts. It is the default.
	Last Counts = "last"
	// Best means that the attempt counts that earns most, after what is taken off for being late.
	Best Counts = "best"
)

// Assignment is what students hand in once: a chapter's operator, or that of a break-it lab.
type Assignment struct {
	// Stage is the chapter. Lab is the break-it lab, where it is one; then Stage is the chapter whose operator is broken.
	Stage, Lab string
	// Points is what all features earn together, each the same. 0 means what Features say, or 1 for each.
	Points float64
	// Features are the points for features by name; others earn 1.
	Features map[string]float64
	// Due is when it has to be handed in; the zero time means that there is no end. Grace is how much later is not late yet.
	Due   time.Time
	Grace time.Duration
	// LatePerDay is what percentage of the points is taken off for each day that has begun since Due.
	LatePerDay int
	// Pairs says that those with the same Pair in the roster hand in one submission.
	Pairs bool
	// Attempts is how many attempts are accepted; 0 means any number. Counts says which of them counts.
	Attempts int
	Counts   Counts
}

// Name is the name of the assignment, in directories and commands.
func (a Assignment) Name() string { return cmp.Or(a.Lab, a.Stage) }

// PointsFor returns what each of the features earns. Features that class.yaml names and that do not exist are an error.
func (a Assignment) PointsFor(features []string) (map[string]float64, error) {
	points := map[string]float64{}
	for _, feature := range features {
		points[feature] = 1
		if a.Points > 0 {
			points[feature] = a.Points / float64(len(features))
		}
	}
	for feature, each := range a.Features {
		if _, ok := points[feature]; !ok {
			return nil, fmt.Errorf("%s gives points to %s, which is not a feature of %s: use some of %s",
				File, feature, a.Name(), strings.Join(features, ", "))
		}
		points[feature] = each
	}
	return points, nil
}

// Penalty returns what percentage of the points is taken off a submission that was collected at a time.
func (a Assignment) Penalty(at time.Time) int { return Late(a.Due, a.Grace, a.LatePerDay, at) }

// Late returns what percentage of the points is taken off, from 0 to 100: perDay for each day that has begun since due, and nothing
// up to the end of grace, or if due is zero. Only the time of collection counts, because a student can set all others.
func Late(due time.Time, grace time.Duration, perDay int, at time.Time) int {
	if due.IsZero() || !at.After(due.Add(grace)) {
		return 0
	}
	const day = 24 * time.Hour
	begun := int((at.Sub(due)-1)/day) + 1
	return min(begun*perDay, 100)
}

// Assignment returns the assignment of that name. An empty name means the only one.
func (c *Class) Assignment(name string) (Assignment, error) {
	var names []string
	for _, a := range c.Assignments {
		if a.Name() == name || name == "" && len(c.Assignments) == 1 {
			return a, nil
		}
		names = append(names, a.Name())
	}
	if name == "" {
		return Assignment{}, fmt.Errorf("name the assignment: STAGE=%s", strings.Join(names, " or STAGE="))
	}
	return Assignment{}, fmt.Errorf("the class %s has no assignment %s: use one of %s, or add it to %s",
		c.Name, name, strings.Join(names, ", "), filepath.Join(c.Dir, File))
}

// Student returns the student with that id.
func (c *Class) Student(id string) (Student, error) {
	i := slices.IndexFunc(c.Students, func(s Student) bool { return s.ID == id })
	if i < 0 {
		return Student{}, fmt.Errorf("there is no student %s in the class %s: use an id of %s", id, c.Name, filepath.Join(c.Dir, RosterFile))
	}
	return c.Students[i], nil
}

// Team returns who hands in together with a student, the student included, in the roster's order. The submission has the id of the
// first.
func (c *Class) Team(a Assignment, s Student) []Student {
	if !a.Pairs || s.Pair == "" {
		return []Student{s}
	}
	var team []Student
	for _, other := range c.Students {
		if other.Pair == s.Pair {
			team = append(team, other)
		}
	}
	return team
}

// teams returns the teams of an assignment, in the order of their first students.
func (c *Class) teams(a Assignment) [][]Student {
	var teams [][]Student
	for _, s := range c.Students {
		if team := c.Team(a, s); team[0].ID == s.ID {
			teams = append(teams, team)
		}
	}
	return teams
}

// needStudents returns an error if there are none.
func (c *Class) needStudents() error {
	if len(c.Students) > 0 {
		return nil
	}
	return fmt.Errorf("%s has no students: write a line with id,name,email for each", filepath.Join(c.Dir, RosterFile))
}

// mistakes collects what is wrong with a file: one sentence each.
type mistakes struct {
	file string
	errs []error
}

func (m *mistakes) add(format string, arguments ...any) {
	m.errs = append(m.errs, errors.New(m.file+fmt.Sprintf(format, arguments...)))
}

func (m *mistakes) err() error { return errors.Join(m.errs...) }
