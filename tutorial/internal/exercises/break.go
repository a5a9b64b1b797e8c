package exercises

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// labsFile has the break-it labs, in the tutorial's directory.
const labsFile = "labs.yaml"

// Fault is a break-it lab: an operator with one fault in it, for a learner to find and fix.
type Fault struct {
	// Name is the name of the lab. It does not give the fault away.
	Name string `json:"name"`
	// Chapter is the name of the chapter whose operator is broken.
	Chapter string `json:"chapter"`
	// Mutant is the name of the chapter's mutant that breaks it.
	Mutant string `json:"mutant"`
	// Symptom is what a user notices.
	Symptom string `json:"symptom"`
	// Point is what the lab teaches, for a learner who has fixed the fault.
	Point string `json:"point"`
	// Others are issues of projects that had the same fault, as "owner/project #number", which is printed as a link, or
	// "project #number".
	Others []string `json:"others"`
	// Hints are what helps, each of which gives away more.
	Hints [chapter.Steps]string `json:"hints"`
}

// Faults reads the break-it labs of the repository at root, in the order in which they are listed.
func Faults(root string) ([]Fault, error) {
	file := filepath.Join(root, "tutorial", labsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var faults []Fault
	if err := yaml.UnmarshalStrict(text, &faults); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return faults, nil
}

// Break makes the directory dir the operator of the break-it lab of that name, with its fault, and prints the symptom. Without a
// name it lists the labs.
func Break(ctx context.Context, root, name, dir string, out io.Writer) error {
	if name == "" {
		return list(root, out)
	}
	fault, err := findFault(root, name)
	if err != nil {
		return errors.Join(err, list(root, out))
	}
	if dir == "" {
		return errors.New("name a new directory for the copy: DIR=directory")
	}
	if err := fault.eject(ctx, root, dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s now contains the operator of %s, with one fault in it.\n\n%s\n\n", dir, fault.Chapter, fault.Symptom)
	fmt.Fprintf(out, "Find the cause and fix it. make check DIR=%s reports whether it is fixed, make hint DIR=%[1]s helps.\n", quote(dir))
	return nil
}

// list prints the names, chapters and symptoms of the labs.
func list(root string, out io.Writer) error {
	faults, err := Faults(root)
	if err != nil {
		return err
	}
	width := 0
	for _, fault := range faults {
		width = max(width, len(fault.Name))
	}
	for _, fault := range faults {
		fmt.Fprintf(out, "  %-*s  %s  %s\n", width, fault.Name, chapter.Label(fault.Chapter), fault.Symptom)
	}
	fmt.Fprintf(out, "\nEach is the operator of a chapter with one fault in it: make break LAB=%s DIR=directory\n", faults[0].Name)
	return nil
}

// findFault returns the break-it lab of that name.
func findFault(root, name string) (Fault, error) {
	faults, err := Faults(root)
	if err != nil {
		return Fault{}, err
	}
	i := slices.IndexFunc(faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, fmt.Errorf("there is no LAB=%s: use one of those in the list", name)
	}
	return faults[i], nil
}

// faultIn returns the break-it lab that the copy in dir is for, if it is for one.
func faultIn(root, dir string) (fault Fault, ok bool, err error) {
	name, err := os.ReadFile(filepath.Join(dir, submission.LabFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Fault{}, false, nil
	}
	if err == nil {
		fault, err = findFault(root, strings.TrimSpace(string(name)))
	}
	return fault, err == nil, err
}

// eject makes the directory dir the broken operator. Nothing in there says what is broken.
func (f Fault) eject(ctx context.Context, root, dir string) (err error) {
	c, err := find(root, f.Chapter)
	if err != nil {
		return err
	}
	m, err := patchIn(filepath.Join(root, c.SuiteDirectory(), "mutants"), f.Mutant)
	if err != nil {
		return err
	}
	if err := ejectPatched(ctx, root, m, c, dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, submission.LabFile), []byte(f.Name+"\n"), 0o644)
}

// issue is an issue of a project whose owner is named.
var issue = regexp.MustCompile(`^([\w.-]+/[\w.-]+) #([0-9]+)$`)

// printPoint prints what the lab teaches, and which projects have had the same fault.
func (f Fault) printPoint(out io.Writer) {
	fmt.Fprintf(out, "Fixed. %s\nReal projects with the same bug:\n", f.Point)
	for _, other := range f.Others {
		fmt.Fprintf(out, "  %s\n", issue.ReplaceAllString(other, "https://github.com/$1/issues/$2"))
	}
}
