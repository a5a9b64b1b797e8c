package exercises

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// Hint prints the next hint for a task or an exercise of the chapter that the copy in dir is for, both counted from 1. Zero for
// both means the first task that has more hints, then the first exercise that has, or the fault of a break-it lab.
func Hint(root, dir string, task, exercise int, out io.Writer) error {
	out = copyNamer{out, dir}
	fault, ok, err := faultIn(root, dir)
	if err != nil {
		return err
	}
	if ok {
		return hintFault(fault, dir, task, exercise, out)
	}
	c, err := chapterOf(root, dir)
	if err != nil {
		return err
	}
	if printed, err := hintTask(root, c, filepath.Join(dir, submission.HintsFile), task, exercise, out); printed || err != nil {
		return err
	}
	return hint(root, c, filepath.Join(dir, submission.HintsFile), exercise, out)
}

// HintAbout is Hint for a chapter that starts without a copy: it records in a file of the directory memory which hints it has
// printed.
func HintAbout(root, stage, memory string, exercise int, out io.Writer) error {
	chapters, err := chapter.ReadAll(filepath.Join(root, "tutorial"))
	if err != nil {
		return err
	}
	var names []string
	for _, c := range chapters {
		if c.Name == stage {
			if err := os.MkdirAll(memory, 0o755); err != nil {
				return err
			}
			return hint(root, c, filepath.Join(memory, stage), exercise, out)
		}
		names = append(names, c.Name)
	}
	return noChapter(root, stage, names)
}

// hint prints the next hint for an exercise of a chapter; the file records which have been printed.
func hint(root string, c chapter.Chapter, file string, exercise int, out io.Writer) error {
	exercises, err := c.Exercises(filepath.Join(root, "tutorial"))
	if err != nil {
		return err
	}
	had, err := readHints(file)
	if err != nil {
		return err
	}
	if exercise == 0 {
		for exercise = 1; exercise < len(c.Hints) && had[exercise] >= chapter.Steps; exercise++ {
		}
	}
	if exercise < 1 || exercise > min(len(c.Hints), len(exercises)) {
		return outOfRange(c, "EXERCISE", exercise, len(c.Hints))
	}
	fmt.Fprintf(out, "Exercise %d of %s: %s\n\n", exercise, c.Name, exercises[exercise-1])
	last := ""
	if c.BuildsOn != "" {
		last = fmt.Sprintf(" make solution STAGE=%s DIR=solution shows how the chapter does its part.", c.Name)
	}
	return printHints(had, exercise, c.Hints[exercise-1], last, file, out)
}

// outOfRange returns the error for a number of a variable of make, such as EXERCISE, for which the chapter has only most.
func outOfRange(c chapter.Chapter, variable string, number, most int) error {
	if most == 0 {
		return fmt.Errorf("%s has no %s=%d: leave it out", c.Name, variable, number)
	}
	return fmt.Errorf("%s has no %s=%d: use a number from 1 to %d", c.Name, variable, number, most)
}

// faultHints is the number of a break-it lab in submission.HintsFile, which no exercise has.
const faultHints = 0

// hintFault prints the next hint for a break-it lab, which has neither tasks nor exercises.
func hintFault(fault Fault, dir string, task, exercise int, out io.Writer) error {
	if task != 0 {
		return fmt.Errorf("%s is for the lab %s, which has no TASK=%d: leave it out", dir, fault.Name, task)
	}
	if exercise != 0 {
		return fmt.Errorf("%s is for the lab %s, which has no EXERCISE=%d: leave it out", dir, fault.Name, exercise)
	}
	file := filepath.Join(dir, submission.HintsFile)
	had, err := readHints(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\n", fault.Symptom)
	last := fmt.Sprintf(" make solution STAGE=%s DIR=solution makes a copy without the fault, to compare with.", fault.Chapter)
	return printHints(had, faultHints, fault.Hints[:], last, file, out)
}

// printHints prints one hint more than the learner has had, and the last words to a learner who has had them all, and records in the
// file which have been printed.
func printHints(had map[int]int, exercise int, hints []string, last, file string, out io.Writer) error {
	step := min(had[exercise]+1, len(hints))
	for i, hint := range hints[:step] {
		fmt.Fprintf(out, "Hint %d of %d: %s\n", i+1, len(hints), hint)
	}
	if had[exercise] == len(hints) {
		fmt.Fprintf(out, "\nThat was the last hint.%s\n", last)
	}
	had[exercise] = step
	text, err := json.Marshal(had)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func readHints(path string) (map[int]int, error) {
	had := map[int]int{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return had, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &had)
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be read, delete it to start with the first hint: %w", path, err)
	}
	for exercise, steps := range had {
		had[exercise] = max(0, min(steps, chapter.Steps))
	}
	return had, nil
}
