package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/mutant"
	"github.com/example/operator-testbed/e2e/tier/summary"
)

// TestEvents reports a mutant of each outcome, and reads what a summary makes of it. One that is known to be killed counts, too.
func TestEvents(t *testing.T) {
	g := NewWithT(t)
	root := repository(t)
	k := killsIn(filepath.Join(t.TempDir(), "mutants"))
	path := filepath.Join(t.TempDir(), "events.json")
	t.Setenv(eventsVariable, path)
	list, err := openEvents()
	g.Expect(err).NotTo(HaveOccurred())

	known, err := newTarget(root, "operator=suite", false, regexp.MustCompile("^a$"))
	g.Expect(err).NotTo(HaveOccurred())
	key, err := known.key(known.mutants[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(k.PutBytes(key, nil)).To(Succeed())

	target, err := newTarget(root, "operator=suite", false, regexp.MustCompile(""))
	g.Expect(err).NotTo(HaveOccurred())
	r := &run{kills: k, events: list}
	g.Expect(r.recall(target)).To(Succeed())
	g.Expect(target.mutants).To(HaveLen(1))
	m := target.mutants[0]
	named := func(name string) mutant.Mutant { m.Name = name; return m }
	r.report(t.Context(), target, named("killed"), mutant.Result{Took: time.Second}, nil)
	r.report(t.Context(), target, named("survivor"), mutant.Result{Wrong: "the test passed", Output: "much\nmore"}, nil)
	r.report(t.Context(), target, named("broken"), mutant.Result{}, errors.New("it does not compile"))
	g.Expect(list.close(true)).To(Succeed())

	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	s, err := summary.Read(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Proven()).To(Equal("Proven: 2 mutants (2 failed)."))
	g.Expect(s.Failed()).To(Equal([]string{"e2e/cmd/mutants TestMutants/operator/broken", "e2e/cmd/mutants TestMutants/operator/survivor"}))
}

func TestNoEvents(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(eventsVariable, "")
	list, err := openEvents()
	g.Expect(err).NotTo(HaveOccurred())
	list.result("a", "")
	g.Expect(list.close(false)).To(Succeed())

	t.Setenv(eventsVariable, filepath.Join(t.TempDir(), "missing", "events.json"))
	_, err = openEvents()
	g.Expect(err).To(MatchError(ContainSubstring("create the file that $TESTBED_EVENTS names")))
}
