package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
	"github.com/example/operator-testbed/tutorial/internal/grade/classroom"
	"github.com/example/operator-testbed/tutorial/internal/grade/export"
	"github.com/example/operator-testbed/tutorial/internal/grade/grading"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
	"github.com/example/operator-testbed/tutorial/internal/submission"
)

// GraderError is an error that is not the student's. The program exits with 2, for a grader around it to report a failure of its own
// rather than a zero. A submission that can't be graded has a result, and so is a success.
type GraderError struct{ error }

func (e GraderError) Unwrap() error { return e.error }

// gradeFlags are what both ways of grading have in common.
type gradeFlags struct {
	isolation string
	trust     bool
	extra     string
}

func (f *gradeFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.isolation, "isolation", "", "only this wall, inner or outer; both if empty")
	flags.BoolVar(&f.trust, "trust", false, "no walls at all: the submission runs with all your permissions")
	flags.StringVar(&f.extra, "extra", "", "a directory with your own test package, which students do not have")
}

// grader returns a grader of an assignment, and removes what it has made when done is called.
func (f *gradeFlags) grader(ctx context.Context, stage, lab string) (_ *grading.Grader, done func(), err error) {
	want := f.isolation
	if f.trust {
		if want != "" {
			return nil, nil, errors.New("--trust means no walls, and --isolation which: leave one of them out")
		}
		want = isolation.WantNone
	}
	// Before anything of a student's is looked at.
	walls, err := isolation.Choose(ctx, want)
	if err != nil {
		return nil, nil, err
	}
	commit, err := graderCommit(ctx, f.extra)
	if err != nil {
		return nil, nil, err
	}
	work, err := os.MkdirTemp("", "grade-")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(work) }
	chapter, err := grading.Prepare(ctx, grading.Assignment{Root: ".", Stage: stage, Lab: lab, Extra: f.extra, Work: work})
	if err != nil {
		done()
		return nil, nil, err
	}
	return &grading.Grader{Chapter: chapter, Cell: walls, Commit: commit}, done, nil
}

// graderCommit names the grader: the commit of the repository, with a hash of what is not committed and of the teacher's own tests.
func graderCommit(ctx context.Context, extra string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("ask git which commit grades: %w: run it in a clone", err)
	}
	commit := strings.TrimSpace(string(out))
	changed, err := exec.CommandContext(ctx, "git", "diff", "--no-ext-diff", "--no-textconv", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("ask git what has changed: %w", err)
	}
	if len(changed) > 0 {
		commit += fmt.Sprintf("+changed-%.4x", sha256.Sum256(changed))
	}
	if extra == "" {
		return commit, nil
	}
	sum := sha256.New()
	err = filepath.WalkDir(extra, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%q %q\n", path, text)
		return err
	})
	return commit + fmt.Sprintf("+extra-%.4x", sum.Sum(nil)), err
}

// newGradeOne returns the command that grades one submission, for a grader around it.
func newGradeOne(stage *string) *cobra.Command {
	var flags gradeFlags
	var dir, lab, format, out, seed, calibration string
	command := &cobra.Command{
		Use: "grade-one", Short: "Grade one submission; exits with 0 if there is a result, 2 if the grader has failed, 1 or 2 if the command line is wrong",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if dir == "" || *stage == "" || out == "" {
				return errors.New("name the submission, the chapter and the file for the result: --submission=directory --stage=NN-name --out=file")
			}
			if _, err := export.OfSubmission(format, grade.Result{Schema: grade.Schema, Status: grade.NotGradable}); err != nil {
				return err // an unknown format, before it takes minutes
			}
			// Whoever kills this program must not find the result of the one before.
			if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			r := gradeOne(command.Context(), &flags, *stage, lab, dir, seed, calibration)
			return writeResult(r, format, out)
		},
	}
	f := command.Flags()
	flags.add(command)
	f.StringVar(&dir, "submission", "", "the directory of the submission, or an archive of make submit")
	f.StringVar(&lab, "lab", "", "the break-it lab of the submission; none if empty")
	f.StringVar(&format, "format", export.JSON, export.JSON+" or "+export.JUnit)
	f.StringVar(&out, "out", "", "the file for the result")
	f.StringVar(&seed, "seed", "1", "the seed for names, sizes and ports")
	f.StringVar(&calibration, "calibration", "", "a file that keeps the result of the solution, so that it need not be graded each time")
	return command
}

// gradeOne returns a result whatever happens.
func gradeOne(ctx context.Context, flags *gradeFlags, stage, lab, dir, seed, calibration string) (r grade.Result) {
	failed := func(err any) grade.Result {
		return grade.Result{
			Schema: grade.Schema, Stage: stage, Lab: lab, Status: grade.GraderError, Message: fmt.Sprint(err), Tests: []grade.Test{}, Seed: seed,
			Volatile: grade.Volatile{GradedAt: time.Now().UTC().Truncate(time.Second)},
		}
	}
	defer func() {
		if crash := recover(); crash != nil {
			r = failed(crash)
		}
	}()
	grader, done, err := flags.grader(ctx, stage, lab)
	if err != nil {
		return failed(err)
	}
	defer done()
	grader.Progress = func(results int) { fmt.Fprintf(os.Stderr, "features with a result: %d\n", results) }
	c, err := calibrate(ctx, grader, calibration)
	if err != nil {
		return failed(err)
	}
	in := grading.Input{Dir: dir, Seed: seed}
	in.Dir, err = unpacked(".", dir, grader.Chapter.Work)
	var refused *submission.RefusedError
	switch {
	case errors.As(err, &refused):
		return grader.Refused(c, in, refused.Error())
	case err != nil:
		return failed(err)
	}
	r, err = grader.One(ctx, c, in)
	if err != nil && r.Schema == "" {
		return failed(err)
	}
	return r
}

// unpacked returns the directory of a submission. In place of it there may be an archive, or a directory with nothing in it but one, as
// web pages pass on what was uploaded: that is unpacked in work.
func unpacked(root, dir, work string) (string, error) {
	archive := dir
	if info, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("find the submission: %w", err)
	} else if info.IsDir() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", fmt.Errorf("find the submission: %w", err)
		}
		if len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), ".tar.gz") {
			return dir, nil
		}
		archive = filepath.Join(dir, entries[0].Name())
	}
	to := filepath.Join(work, "unpacked")
	return to, submission.Unpack(root, archive, to)
}

// calibrate returns what the file says that the solution reaches, or grades it and writes the file.
func calibrate(ctx context.Context, grader *grading.Grader, file string) (grading.Calibration, error) {
	var c grading.Calibration
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &c); err != nil {
			return c, fmt.Errorf("read the calibration %s: %w: remove the file", file, err)
		}
		return c, nil
	}
	c, err := grader.Calibrate(ctx, "")
	if err != nil || file == "" {
		return c, err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = batch.WriteFile(file, append(text, '\n'))
	}
	return c, err
}

// writeResult writes a result in a format, also where the grader has failed: both formats say so. Where there is nothing to write, an old
// file is removed: nobody must take it for this one.
func writeResult(r grade.Result, format, out string) error {
	text, err := export.OfSubmission(format, r)
	if err == nil {
		err = batch.WriteFile(out, text)
	} else if removeErr := os.Remove(out); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	if err == nil && r.Status == grade.GraderError {
		err = errors.New(r.Message)
	}
	if err != nil {
		return GraderError{err}
	}
	fmt.Fprintln(os.Stdout, batch.Summary(r))
	return nil
}

// newGrade returns the command that grades a class.
func newGrade(assignment, dir *string) *cobra.Command {
	var flags gradeFlags
	var student, atOnce string
	command := &cobra.Command{
		Use: "grade", Short: "Grade what was collected, the solution first; what is graded already is kept", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			number, err := count("J", atOnce)
			if err != nil {
				return err
			}
			return gradeClass(command.Context(), &flags, *dir, *assignment, student, number, os.Stdout)
		},
	}
	flags.add(command)
	aboutClass(command, assignment, dir)
	command.Flags().StringVar(&student, "student", "", "the id of one student to grade again; if empty, all who are not graded yet")
	command.Flags().StringVar(&atOnce, "at-once", "", "the number of submissions to grade at once; if empty, as many as the machine can")
	return command
}

func gradeClass(ctx context.Context, flags *gradeFlags, dir, assignment, student string, atOnce int, out io.Writer) error {
	c, a, err := read(dir, assignment)
	if err != nil {
		return err
	}
	grader, done, err := flags.grader(ctx, a.Stage, a.Lab)
	if err != nil {
		return GraderError{err}
	}
	defer done()
	o := classroom.Options{
		Class: c, Assignment: a, Student: student, Grader: grader, Commit: grader.Commit,
		AtOnce: cmp.Or(atOnce, batch.Parallel(runtime.NumCPU(), freeMemory())),
	}
	o.Isolation.Outer, o.Isolation.Inner = grader.Cell.Isolation()
	err = classroom.Grade(ctx, o, out)
	if err == nil {
		fmt.Fprintf(out, "feedback for students is in %s, and an overview in %[1]s/%s.html\n", filepath.Join(dir, class.Feedback), a.Name())
	}
	return err
}

// freeMemory returns how many bytes of memory are free, or 0 where the system does not say so.
func freeMemory() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var kib uint64
		if _, err := fmt.Sscanf(lines.Text(), "MemAvailable: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}
