// Package classroom grades a class: the solution first, then what its students have handed in, and it writes the feedback for them and
// an overview for the teacher.
//
//	graded/<id>/<assignment>.json                the result that counts
//	graded/<id>/.attempts/<assignment>/<n>.json  those of all attempts that can count, with the suite's output beside
//	graded/.calibration/<assignment>.json        what the solution reaches
//	feedback/<id>/<assignment>.md                a page for the student
//	feedback/<assignment>.html                   the overview
package classroom

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
	"github.com/example/operator-testbed/tutorial/internal/grade/feedback"
	"github.com/example/operator-testbed/tutorial/internal/grade/gradebook"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
)

// Grader grades submissions of one assignment: see grading.Grader.
type Grader interface {
	Calibrate(ctx context.Context, log string) (grading.Calibration, error)
	One(ctx context.Context, c grading.Calibration, in grading.Input) (grade.Result, error)
	Refused(c grading.Calibration, in grading.Input, reason string) grade.Result
}

// Options say what to grade.
type Options struct {
	Class      *class.Class
	Assignment class.Assignment
	// Student is the id of the only one to grade, whatever results there are, or empty.
	Student string
	// AtOnce is how many are graded side by side.
	AtOnce int
	// Grader grades, Commit names it, and Isolation its walls.
	Grader    Grader
	Commit    string
	Isolation grade.Isolation
}

// calibrated is what is kept of a calibration.
type calibrated struct {
	Grader      string              `json:"grader"`
	Isolation   grade.Isolation     `json:"isolation"`
	Calibration grading.Calibration `json:"calibration"`
}

// Grade grades what was collected for the assignment, as far as that is not done, and prints how far it is.
func Grade(ctx context.Context, o Options, out io.Writer) error {
	if o.Student != "" {
		if _, err := o.Class.Student(o.Student); err != nil {
			return err
		}
	}
	unlock, err := class.Lock(o.Class.Dir, "make class-grade")
	if err != nil {
		return err
	}
	defer unlock()
	// Before anything runs, for a mistake in it to be found at once.
	if _, err := o.Class.Adjustments(); err != nil {
		return err
	}
	calibration, err := o.calibrate(ctx, out)
	if err != nil {
		return class.Explain(ctx, err)
	}
	jobs, err := o.jobs(calibration)
	if err != nil {
		return err
	}
	err = batch.Run(ctx, solo(jobs), o.AtOnce, out)
	written := share(jobs)
	if written == nil {
		written = o.writeBook(calibration)
	}
	return errors.Join(err, class.Explain(context.WithoutCancel(ctx), written))
}

// calibrate grades the solution, unless this grader has, and everybody is graded.
func (o Options) calibrate(ctx context.Context, out io.Writer) (grading.Calibration, error) {
	file := o.calibration()
	var before calibrated
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &before) == nil &&
		before.Grader == o.Commit && before.Isolation == o.Isolation {
		missing := func(j batch.Job) bool { _, kept := j.Kept(); return !kept }
		if jobs, err := o.jobs(before.Calibration); err == nil && !slices.ContainsFunc(solo(jobs), missing) {
			return before.Calibration, nil
		}
	}
	fmt.Fprintf(out, "grading the solution of %s first\n", o.Assignment.Stage)
	log := logOf(file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), remove(log)); err != nil {
		return grading.Calibration{}, err
	}
	calibration, err := o.Grader.Calibrate(ctx, log)
	if err != nil {
		return calibration, err
	}
	text, err := json.MarshalIndent(calibrated{o.Commit, o.Isolation, calibration}, "", "  ")
	if err == nil {
		err = batch.WriteFile(file, append(text, '\n'))
	}
	return calibration, err
}

// calibration is the file that keeps the calibration.
func (o Options) calibration() string {
	return filepath.Join(o.Class.Dir, class.Graded, ".calibration", o.Assignment.Name()+".json")
}

// job is an attempt to grade.
type job struct {
	batch.Job

	student string
	// same is the job of the same submission, by the other one of a pair or in an earlier attempt, whose result is this one's, too. It
	// is nil for those that are graded.
	same *job
}

// solo returns those of the jobs that are graded.
func solo(jobs []*job) []batch.Job {
	var own []batch.Job
	for _, j := range jobs {
		if j.same == nil {
			own = append(own, j.Job)
		}
	}
	return own
}

// share gives the jobs of a submission that was graded once its result, with the suite's output.
func share(jobs []*job) error {
	for _, j := range jobs {
		if j.same == nil {
			continue
		}
		result, err := batch.Read(j.same.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue // interrupted before
		}
		if err == nil {
			result.Student = j.student
			var text []byte
			if text, err = os.ReadFile(logOf(j.same.File)); err == nil {
				result.Volatile.Log = filepath.Base(logOf(j.File))
				err = batch.WriteFile(logOf(j.File), text)
			} else if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err == nil {
			err = batch.Write(j.File, result)
		}
		if err != nil {
			return fmt.Errorf("give %s the result of %s: %w: grade again", j.student, j.same.student, err)
		}
	}
	return nil
}

// logOf is the file with the suite's output, given that of the result.
func logOf(result string) string { return strings.TrimSuffix(result, ".json") + ".log" }

// jobs returns the attempts that can count, of all students, or of one and who hands in together with that one.
func (o Options) jobs(calibration grading.Calibration) ([]*job, error) {
	points, err := o.points(calibration)
	if err != nil {
		return nil, err
	}
	var jobs []*job
	type submitted struct{ team, hash string }
	graded := map[submitted]*job{}
	for _, student := range o.Class.Students {
		team := o.Class.Team(o.Assignment, student)
		if o.Student != "" && !slices.ContainsFunc(team, func(s class.Student) bool { return s.ID == o.Student }) {
			continue
		}
		attempts, err := o.counting(student)
		if err != nil {
			return nil, err
		}
		for _, attempt := range attempts {
			j, key := &job{Job: o.job(student, attempt, calibration, points), student: student.ID}, submitted{team[0].ID, attempt.Submission}
			if attempt.Refused == "" {
				if j.same = graded[key]; j.same == nil {
					graded[key] = j
				} else {
					j.same.Name += " and " + j.Name
				}
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// points returns the points for a feature.
func (o Options) points(calibration grading.Calibration) (func(string) float64, error) {
	var features []string
	for _, t := range calibration.Tests {
		if t.Status != grade.Skip {
			features = append(features, t.Name)
		}
	}
	points, err := o.Assignment.PointsFor(features)
	return func(test string) float64 { return points[test] }, err
}

func (o Options) counting(student class.Student) ([]class.Attempt, error) {
	attempts, err := o.Class.Attempts(o.Assignment, student)
	return o.Assignment.Counting(attempts), err
}

// resultOf is the file of an attempt.
func (o Options) resultOf(student class.Student, attempt class.Attempt) string {
	return filepath.Join(o.Class.Dir, class.Graded, student.ID, ".attempts", o.Assignment.Name(), strconv.Itoa(attempt.Number)+".json")
}

func (o Options) job(student class.Student, attempt class.Attempt, c grading.Calibration, points func(string) float64) batch.Job {
	file := o.resultOf(student, attempt)
	log := logOf(file)
	in := grading.Input{
		Student: student.ID, Dir: attempt.Dir, Seed: o.Class.Seed(o.Assignment, student).Text, Points: points, Log: log, LogName: filepath.Base(log),
	}
	want := grade.Result{Submission: attempt.Submission, Grader: o.Commit, Seed: in.Seed, Isolation: o.Isolation, Tests: []grade.Test{}}
	for _, t := range c.Tests {
		if t.Status != grade.Skip {
			t.MaxScore = points(t.Name)
		}
		want.Tests = append(want.Tests, t)
	}
	job := batch.Job{Name: student.ID, File: file, Want: want, Again: o.Student != ""}
	if len(o.Assignment.Counting([]class.Attempt{{}, {}})) > 1 {
		job.Name += fmt.Sprintf(" attempt %d", attempt.Number)
	}
	job.Grade = func(ctx context.Context) (grade.Result, error) {
		if attempt.Refused != "" {
			return o.Grader.Refused(c, in, attempt.Refused), nil
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o755), remove(log)); err != nil {
			return grade.Result{}, err
		}
		return o.Grader.One(ctx, c, in)
	}
	return job
}

// remove removes a file, if there is one.
func remove(file string) error {
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeBook writes which results count, and what people read about them.
func (o Options) writeBook(calibration grading.Calibration) error {
	most, err := o.most(calibration)
	if err != nil {
		return err
	}
	book, err := Book(o.Class, o.Assignment, most)
	if err != nil {
		return err
	}
	for _, row := range book.Rows {
		if row.Result != nil {
			file := filepath.Join(o.Class.Dir, class.Graded, row.Student.ID, o.Assignment.Name()+".json")
			if err := batch.Write(file, *row.Result); err != nil {
				return err
			}
		}
		page := filepath.Join(o.Class.Dir, class.Feedback, row.Student.ID, o.Assignment.Name()+".md")
		if err := batch.WriteFile(page, feedback.Page(book.Assignment, row)); err != nil {
			return err
		}
	}
	overview, err := feedback.Overview(book)
	if err != nil {
		return err
	}
	return batch.WriteFile(filepath.Join(o.Class.Dir, class.Feedback, o.Assignment.Name()+".html"), overview)
}

// most is the score of the solution, in the points of the class.
func (o Options) most(calibration grading.Calibration) (float64, error) {
	points, err := o.points(calibration)
	sum := 0.0
	for _, t := range calibration.Tests {
		if t.Status != grade.Skip {
			sum += points(t.Name)
		}
	}
	return sum, err
}

// Book returns the gradebook of an assignment: of each student the attempt that counts, with what being late costs and what the teacher
// has changed. most is the score of the solution.
func Book(c *class.Class, a class.Assignment, most float64) (gradebook.Gradebook, error) {
	o := Options{Class: c, Assignment: a}
	book := gradebook.Gradebook{Assignment: gradebook.Assignment{Name: a.Name(), Due: a.Due, MaxScore: most}}
	adjustments, err := c.Adjustments()
	if err != nil {
		return book, err
	}
	for _, student := range c.Students {
		row := gradebook.Row{Student: gradebook.Student{ID: student.ID, Email: student.Email}}
		row.Student.FirstName, row.Student.LastName = split(student.Name)
		for _, adjustment := range adjustments {
			if adjustment.Student == student.ID && adjustment.Assignment == a.Name() {
				row.Adjustment, row.Comment = adjustment.Points, adjustment.Comment
			}
		}
		attempts, err := o.counting(student)
		if err != nil {
			return book, err
		}
		for i, attempt := range attempts {
			result, err := batch.Read(o.resultOf(student, attempt))
			if errors.Is(err, fs.ErrNotExist) {
				continue // not graded yet
			}
			if err != nil {
				return book, fmt.Errorf("read a result of %s: %w: remove the file, and grade again", student.ID, err)
			}
			other := row
			other.Result, other.SubmittedAt = &result, attempt.At
			other.LatePenalty = max(0, result.Score+row.Adjustment) * float64(a.Penalty(attempt.At)) / 100
			if i == 0 || row.Result == nil || better(book.Assignment, other, row) {
				row = other
			}
		}
		book.Rows = append(book.Rows, row)
	}
	return book, nil
}

// Finished returns the gradebook of an assignment that is graded: what was handed in since, or was valued otherwise, would be a zero in
// it, so that is an error.
func Finished(c *class.Class, a class.Assignment) (gradebook.Gradebook, error) {
	o := Options{Class: c, Assignment: a}
	var before calibrated
	text, err := os.ReadFile(o.calibration())
	if errors.Is(err, fs.ErrNotExist) {
		return gradebook.Gradebook{}, fmt.Errorf("nothing of %s is graded yet: type make class-grade DIR='%s' STAGE=%[1]s", a.Name(), c.Dir)
	}
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		return gradebook.Gradebook{}, fmt.Errorf("read what the solution of %s reaches: %w: remove the file, and grade again", a.Name(), err)
	}
	jobs, err := o.jobs(before.Calibration)
	if err != nil {
		return gradebook.Gradebook{}, err
	}
	var missing []string
	for _, job := range jobs {
		r, err := batch.Read(job.File)
		job.Want.Grader, job.Want.Isolation = r.Grader, r.Isolation // that of another grader counts, too
		if r.Submission == "" {
			job.Want.Submission = "" // refused before it had a hash
		}
		if _, kept := job.Kept(); err != nil || !kept && r.Status != grade.GraderError {
			missing = append(missing, job.Name)
		}
	}
	if len(missing) > 0 {
		return gradebook.Gradebook{}, fmt.Errorf("of %s there are submissions without a grade (%s): type make class-grade DIR='%s' STAGE=%[1]s",
			a.Name(), strings.Join(missing, ", "), c.Dir)
	}
	most, err := o.most(before.Calibration)
	if err != nil {
		return gradebook.Gradebook{}, err
	}
	return Book(c, a, most)
}

// better reports whether a row has more points than another of the same student. Of the same number the earlier attempt counts.
func better(a gradebook.Assignment, row, than gradebook.Row) bool {
	points, ok := a.Points(row)
	before, had := a.Points(than)
	return ok && (!had || points.Score > before.Score)
}

// split returns the first names and the last name of what people are called.
func split(name string) (first, last string) {
	words := strings.Fields(name)
	if len(words) == 0 {
		return "", ""
	}
	return strings.Join(words[:len(words)-1], " "), cmp.Or(words[len(words)-1], name)
}
