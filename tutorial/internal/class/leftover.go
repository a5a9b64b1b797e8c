package class

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LeftOver is something in the directory of what was handed in that was not collected.
type LeftOver struct {
	Name, Reason string
}

// ofSystems are files that a file manager leaves in any directory.
var ofSystems = []string{".DS_Store", "Thumbs.db", "desktop.ini"}

// archives are the endings of archives other than those of make submit.
var archives = []string{".zip", ".tgz", ".tar", ".7z", ".rar", ".tar.bz2", ".tar.xz"}

// LeftOver returns what is in the directory from, and what [Collect] has not taken of it for an assignment, in the order of the names.
func (c *Class) LeftOver(a Assignment, from string, form Form) ([]LeftOver, error) {
	from = c.From(a, from)
	suffix, err := form.suffix()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	// What was taken, by the ids of its team.
	taken := map[string]string{}
	for _, team := range c.teams(a) {
		path := source(from, team, a.Name(), suffix)
		if path == "" {
			continue
		}
		within, err := filepath.Rel(from, path)
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(filepath.ToSlash(within), "/")
		for _, s := range team {
			taken[s.ID] = name
		}
	}
	var left []LeftOver
	for _, entry := range entries {
		name := entry.Name()
		used := false
		for _, other := range taken {
			used = used || other == name
		}
		if !used && !slices.Contains(ofSystems, name) {
			left = append(left, LeftOver{name, c.whyLeft(a, form, suffix, name, entry.IsDir(), taken)})
		}
	}
	return left, nil
}

// whyLeft says why something of a name was not collected.
func (c *Class) whyLeft(a Assignment, form Form, suffix, name string, directory bool, taken map[string]string) string {
	stem, ending := name, ""
	for _, known := range slices.Concat([]string{".tar.gz", ".git"}, archives) {
		if base, found := strings.CutSuffix(name, known); found && len(known) > len(ending) {
			stem, ending = base, known
		}
	}
	is := Directories
	switch ending {
	case ".tar.gz":
		is = Archives
	case ".git":
		is = Repositories
	}
	owner, ok := c.student(strings.TrimSuffix(stem, "-"+a.Name()))
	if !ok {
		for _, other := range c.Assignments {
			if _, theirs := c.student(strings.TrimSuffix(stem, "-"+other.Name())); theirs {
				return fmt.Sprintf("it is for %s: collect it with the STAGE or LAB of that", other.Name())
			}
		}
		for _, s := range c.Students {
			if strings.EqualFold(s.ID, stem) || strings.EqualFold(s.ID+"-"+a.Name(), stem) {
				return fmt.Sprintf("the roster writes the id %s: rename it", s.ID)
			}
		}
		return fmt.Sprintf("no student has the id %s", stem)
	}
	switch other := taken[owner.ID]; {
	case other != "":
		return fmt.Sprintf("%s was taken for %s", other, owner.ID)
	case slices.Contains(archives, ending) || ending == "" && !directory:
		return fmt.Sprintf("it is not what make submit makes: ask for that, or unpack it and collect with AS=%s", Directories)
	case is != form:
		return fmt.Sprintf("AS=%s does not take it: collect with AS=%s", form, is)
	}
	return fmt.Sprintf("it is not called %s%s", owner.ID, suffix)
}

// student returns the student with an id.
func (c *Class) student(id string) (Student, bool) {
	i := slices.IndexFunc(c.Students, func(s Student) bool { return s.ID == id })
	if i < 0 {
		return Student{}, false
	}
	return c.Students[i], true
}
