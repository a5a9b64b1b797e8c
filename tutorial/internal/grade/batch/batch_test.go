package batch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/grade"
	"github.com/example/operator-testbed/tutorial/internal/grade/batch"
)

// jobs returns six submissions, of which the grader fails for one. calls counts how often it was asked.
func jobs(dir string, calls *atomic.Int32, before func(name string)) []batch.Job {
	var all []batch.Job
	for i := range 6 {
		name := fmt.Sprintf("s%02d", i)
		want := grade.Result{Submission: "sha256:" + name, Grader: "abc", Seed: name, Tests: []grade.Test{{Name: "TestA", MaxScore: 2}}}
		all = append(all, batch.Job{
			Name: name, File: filepath.Join(dir, name, "04-status.json"), Want: want,
			Grade: func(context.Context) (grade.Result, error) {
				before(name)
				r := want
				r.Schema, r.Student, r.Status, r.Score, r.MaxScore = grade.Schema, name, grade.Graded, float64(i%3), 2
				r.Volatile = grade.Volatile{GradedAt: time.Now(), TookMS: int64(calls.Add(1)), CPUMS: 1500, MemoryBytes: 600 << 20}
				if i == 4 {
					r.Status, r.Score, r.MaxScore, r.Message = grade.GraderError, 0, 0, "no disk"
					return r, errors.New("no disk")
				}
				return r, nil
			},
		})
	}
	return all
}

// results returns the results without what is volatile.
func results(t *testing.T, all []batch.Job) string {
	t.Helper()
	var text strings.Builder
	for _, job := range all {
		r, err := batch.Read(job.File)
		if err != nil {
			t.Fatal(err)
		}
		r.Volatile = grade.Volatile{}
		fmt.Fprintf(&text, "%+v\n", r)
	}
	return text.String()
}

// TestRun grades with one and with four at once, twice: with the same results, and of the second time only those that are missing.
func TestRun(t *testing.T) {
	seen := map[int]string{}
	for _, n := range []int{1, 4} {
		var calls atomic.Int32
		all := jobs(t.TempDir(), &calls, func(string) {})
		var out bytes.Buffer
		const failure = "the grader has failed for s04, who have no grade yet: run it again"
		if err := batch.Run(t.Context(), all, n, &out); err == nil || err.Error() != failure {
			t.Fatalf("got %v, expected %s", err, failure)
		}
		if calls.Load() != 6 {
			t.Errorf("%d at once: graded %d, expected 6", n, calls.Load())
		}
		for _, want := range []string{"s05: 2 of 2  [", "s04: the grader has failed: no disk", "5 graded in ", "1.5 s", "600 MiB", "7.5 CPU seconds"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the output lacks %q:\n%s", want, &out)
			}
		}
		seen[n] = results(t, all)
		if err := batch.Run(t.Context(), all, n, io.Discard); err == nil {
			t.Error("the failure was kept")
		}
		if calls.Load() != 7 {
			t.Errorf("%d at once: graded %d again, expected only the one that has failed", n, calls.Load()-6)
		}
		if again := results(t, all); again != seen[n] {
			t.Errorf("%d at once: the second run differs:\n%s\n%s", n, seen[n], again)
		}
	}
	if seen[1] != seen[4] {
		t.Errorf("one at once:\n%s\nfour at once:\n%s", seen[1], seen[4])
	}
}

// TestKept grades again what was handed in, seeded, isolated or counted otherwise, or by another grader.
func TestKept(t *testing.T) {
	var calls atomic.Int32
	job := jobs(t.TempDir(), &calls, func(string) {})[1]
	if _, kept := job.Kept(); kept {
		t.Error("a result that is missing was kept")
	}
	if err := batch.Run(t.Context(), []batch.Job{job}, 1, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, kept := job.Kept(); !kept {
		t.Error("the same result was not kept")
	}
	again := job
	again.Again = true
	if _, kept := again.Kept(); kept {
		t.Error("a result was kept although it was to be graded again")
	}
	for name, change := range map[string]func(*grade.Result){
		"submission": func(r *grade.Result) { r.Submission = "sha256:other" },
		"grader":     func(r *grade.Result) { r.Grader = "other" },
		"seed":       func(r *grade.Result) { r.Seed = "other" },
		"isolation":  func(r *grade.Result) { r.Isolation.Outer = "none" },
		"points":     func(r *grade.Result) { r.Tests = []grade.Test{{Name: "TestA", MaxScore: 3}} },
		"features":   func(r *grade.Result) { r.Tests = append(r.Tests, grade.Test{Name: "TestB"}) },
	} {
		other := job
		change(&other.Want)
		if _, kept := other.Kept(); kept {
			t.Errorf("the result of another %s was kept", name)
		}
	}
	if err := os.WriteFile(job.File, []byte(`{"schema":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, kept := job.Kept(); kept {
		t.Error("half a result was kept")
	}
}

// TestInterrupted keeps what is done, writes nothing of what is not, and goes on with that the next time.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	var calls atomic.Int32
	all := jobs(t.TempDir(), &calls, func(name string) {
		if name == "s02" {
			interrupt(errors.New("Ctrl-C"))
		}
	})
	err := batch.Run(ctx, all, 1, io.Discard)
	if want := "Ctrl-C: 2 of 6 are graded; run it again for the others"; err == nil || err.Error() != want {
		t.Errorf("got %v, expected %s", err, want)
	}
	if _, err := os.Stat(all[2].File); err == nil {
		t.Error("what was interrupted has a result")
	}
	_ = batch.Run(t.Context(), all, 1, io.Discard)
	if calls.Load() != 7 { // one of them twice
		t.Errorf("graded %d, expected 7", calls.Load())
	}
}

func TestParallel(t *testing.T) {
	for _, test := range []struct {
		cores int
		free  uint64
		want  int
	}{{1, 0, 1}, {2, 24 << 30, 1}, {8, 24 << 30, 4}, {8, 4 << 30, 2}, {8, 1 << 30, 1}, {16, 0, 8}} {
		if got := batch.Parallel(test.cores, test.free); got != test.want {
			t.Errorf("Parallel(%d, %d) = %d, expected %d", test.cores, test.free, got, test.want)
		}
	}
}

func TestSummary(t *testing.T) {
	for want, r := range map[string]grade.Result{
		"4.5 of 5, TestA is flaky":               {Status: grade.Graded, Score: 4.5, MaxScore: 5, Tests: []grade.Test{{Name: "TestA", Flaky: true}}},
		"not gradable: does not compile: x.go:1": {Status: grade.NotGradable, Message: "does not compile:\n# a/cmd\nx.go:1\nx.go:2"},
		"not gradable: two":                      {Status: grade.NotGradable, Message: "two\nlines"},
		"the grader has failed: no disk":         {Status: grade.GraderError, Message: "no disk"},
		"not gradable: red, and the other way":   {Status: grade.NotGradable, Message: "\x1b[31mred\u009b2J, and \u202ethe other way"},
	} {
		if got := batch.Summary(r); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}
