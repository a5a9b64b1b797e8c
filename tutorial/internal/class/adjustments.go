package class

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Adjustment is what a teacher changes about a grade by hand. It is in a file of its own, so it survives grading again.
type Adjustment struct {
	// Student is the student's id, and Assignment the name of a chapter or lab; in the file it is called stage.
	Student    string `json:"student"`
	Assignment string `json:"stage"`
	// Points are added to what the submission has earned. They may be negative.
	Points float64 `json:"points,omitempty"`
	// Comment is for the student to read.
	Comment string `json:"comment,omitempty"`
}

// Adjustments reads the adjustments of the class. Without the file there are none. The error has a sentence for each mistake.
func (c *Class) Adjustments() ([]Adjustment, error) {
	file := filepath.Join(c.Dir, AdjustmentsFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var adjustments []Adjustment
	if err := yaml.UnmarshalStrict(text, &adjustments); err != nil {
		return nil, fmt.Errorf("%s: %s", file, strings.Join(strings.Fields(err.Error()), " "))
	}
	wrong := &mistakes{}
	seen := map[Adjustment]bool{}
	for i, a := range adjustments {
		wrong.file = fmt.Sprintf("%s: adjustment %d: ", file, i+1)
		if _, err := c.Student(a.Student); err != nil {
			wrong.add("%v", err)
		}
		if _, err := c.Assignment(a.Assignment); err != nil || a.Assignment == "" {
			wrong.add("the class has no stage %q: use the name of a chapter or lab that %s assigns", a.Assignment, File)
		}
		if a.Points == 0 && a.Comment == "" || math.IsInf(a.Points, 0) || math.IsNaN(a.Points) {
			wrong.add("it changes nothing: give points such as 2 or -1, or a comment")
		}
		key := Adjustment{Student: a.Student, Assignment: a.Assignment}
		if seen[key] {
			wrong.add("%s has an adjustment for %s already: make one of the two", a.Student, a.Assignment)
		}
		seen[key] = true
	}
	return adjustments, wrong.err()
}
