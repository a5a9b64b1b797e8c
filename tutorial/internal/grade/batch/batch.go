// Package batch grades many submissions: some side by side, each on its own, and those that are graded already not again. A run that was
// interrupted goes on where it was.
package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/example/operator-testbed/e2e/interrupt"
	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

// Job is a submission to grade.
type Job struct {
	// Name names it for the teacher, such as "s07".
	Name string
	// File gets the result.
	File string
	// Want is what a result has that was graded alike: its Submission, Grader, Seed and Isolation, and of its tests the names and
	// highest scores. A result in File that has all of that is kept.
	Want grade.Result
	// Again has it graded whatever there is.
	Again bool
	// Grade grades it. Whatever the error, there is a result.
	Grade func(ctx context.Context) (grade.Result, error)
}

// Kept returns the result in the job's file if it is the one that grading would bring again. A failure of the grader's is not.
func (j Job) Kept() (grade.Result, bool) {
	r, err := Read(j.File)
	if err != nil || r.Status == grade.GraderError || r.Schema != grade.Schema {
		return r, false
	}
	alike := !j.Again && r.Submission == j.Want.Submission && r.Grader == j.Want.Grader && r.Seed == j.Want.Seed && r.Isolation == j.Want.Isolation &&
		len(r.Tests) == len(j.Want.Tests)
	for i := 0; alike && i < len(r.Tests); i++ {
		alike = r.Tests[i].Name == j.Want.Tests[i].Name && r.Tests[i].MaxScore == j.Want.Tests[i].MaxScore
	}
	return r, alike
}

// Read returns the result in a file.
func Read(file string) (grade.Result, error) {
	var r grade.Result
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// Write writes a result, in one step: a file has all of a result, or that of before.
func Write(file string, r grade.Result) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(file, append(text, '\n'))
}

// WriteFile writes a file in one step, and the directory that it is in.
func WriteFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".new-")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// memoryEach is what the cluster, the suite and the operator of a submission need, in bytes, with something to spare.
const memoryEach = 3 << 29

// Parallel returns how many submissions a machine can grade at once, given its free memory in bytes; 0 means that nobody knows.
func Parallel(cores int, free uint64) int {
	n := cores / 2
	if free > 0 {
		n = min(n, int(free/memoryEach))
	}
	return max(n, 1)
}

// Run grades the jobs, n at once, and prints how far it is. What becomes of one has no effect on the others. When the context ends, what
// is not done stays as it was. The error names those for whom the grader has failed.
func Run(ctx context.Context, jobs []Job, n int, out io.Writer) error {
	p := &progress{out: out, of: len(jobs), atOnce: n, began: time.Now(), results: make([]grade.Result, len(jobs))}
	group := errgroup.Group{}
	group.SetLimit(n)
	for i, job := range jobs {
		if r, ok := job.Kept(); ok {
			p.kept(i, r)
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // Run returns the cause
			}
			r, err := job.Grade(ctx)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // Run returns the cause
			}
			if writeErr := Write(job.File, r); writeErr != nil {
				err = errors.Join(err, fmt.Errorf("write the result: %w", writeErr))
			}
			p.done(i, job.Name, r, err)
			return nil
		})
	}
	_ = group.Wait() // errors are noted
	p.table(jobs)
	if ctx.Err() != nil {
		return interrupt.Explain(ctx, context.Cause(ctx), fmt.Sprintf("%d of %d are graded; run it again for the others", p.finished, p.of))
	}
	if len(p.failed) > 0 {
		return fmt.Errorf("the grader has failed for %s, who have no grade yet: run it again", strings.Join(p.failed, ", "))
	}
	return nil
}

// progress says how far a run is.
type progress struct {
	out    io.Writer
	of     int
	atOnce int
	began  time.Time

	mu       sync.Mutex
	finished int // with those that were kept
	graded   int // in this run
	failed   []string
	results  []grade.Result
}

func (p *progress) kept(i int, r grade.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	p.results[i] = r
}

func (p *progress) done(i int, name string, r grade.Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed = append(p.failed, name)
		fmt.Fprintf(p.out, "%s: the grader has failed: %s\n", name, plain.Visible(err.Error()))
		return
	}
	p.finished++
	p.graded++
	p.results[i] = r
	elapsed := time.Since(p.began)
	fmt.Fprintf(p.out, "%s: %s  [%d of %d%s]\n", name, Summary(r), p.finished, p.of, remaining(elapsed, p.graded, p.of-p.finished))
}

// remaining says how much longer it takes for others, given how long it took for some.
func remaining(elapsed time.Duration, done, left int) string {
	if left <= 0 || done == 0 {
		return ""
	}
	return fmt.Sprintf(", about %s left", (elapsed / time.Duration(done) * time.Duration(left)).Round(time.Second))
}

// Summary is a result in a few words, for a terminal.
func Summary(r grade.Result) string { return plain.Visible(summary(r)) }

func summary(r grade.Result) string {
	switch r.Status {
	case grade.Graded:
		said := []string{fmt.Sprintf("%g of %g", r.Score, r.MaxScore)}
		for _, t := range r.Tests {
			if t.Flaky {
				said = append(said, t.Name+" is flaky")
			}
		}
		return strings.Join(said, ", ")
	case grade.NotGradable:
		first, others, _ := strings.Cut(r.Message, "\n")
		if strings.HasPrefix(others, "# ") { // as the compiler names a package
			_, others, _ = strings.Cut(others, "\n")
		}
		if why, _, _ := strings.Cut(others, "\n"); strings.HasSuffix(first, ":") {
			first += " " + why
		}
		return "not gradable: " + first
	default:
		return "the grader has failed: " + r.Message
	}
}

// table prints what each has cost, from which the time for other classes and machines can be computed.
func (p *progress) table(jobs []Job) {
	if p.graded == 0 {
		return
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "submission\tscore\ttime\tCPU\tmemory")
	var cpu, most int64
	for i, r := range p.results {
		if r.Schema == "" {
			continue
		}
		v := r.Volatile
		fmt.Fprintf(table, "%s\t%g/%g\t%.1f s\t%.1f s\t%d MiB\n", jobs[i].Name, r.Score, r.MaxScore,
			float64(v.TookMS)/1000, float64(v.CPUMS)/1000, v.MemoryBytes>>20)
		cpu, most = cpu+v.CPUMS, max(most, v.MemoryBytes)
	}
	_ = table.Flush()
	fmt.Fprintf(p.out, "%d graded in %s, %d kept, %d at once; %.1f CPU seconds in all, at most %d MiB each\n",
		p.graded, time.Since(p.began).Round(time.Second), p.finished-p.graded, p.atOnce, float64(cpu)/1000, most>>20)
}
