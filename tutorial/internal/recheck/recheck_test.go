package recheck_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/recheck"
)

const root = "../../.."

// screen keeps what is printed.
type screen struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    strings.Builder
}

func newScreen() *screen {
	s := &screen{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
	return s.text.Write(text)
}

// until returns when the text was printed so often.
func (s *screen) until(text string, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for strings.Count(s.text.String(), text) < times {
		s.changed.Wait()
	}
}

// reminder is a line that only a slow machine has: [TestSteps] is about it.
var reminder = regexp.MustCompile(`still .+… \(\d+ s\)\n`)

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reminder.ReplaceAllString(s.text.String(), "")
}

// learner is somebody who watches a copy of 04-status, whose checks end when and as the test says.
type learner struct {
	dir      string
	screen   *screen
	keys     chan rune
	started  chan string // the directory of each check
	finish   chan error  // how it ends
	canceled chan error  // why it was canceled, if it was
	hints    int
	left     chan error // what Watch returns
}

func newLearner(ctx context.Context, t *testing.T) *learner {
	t.Helper()
	l := &learner{
		dir: filepath.Join(t.TempDir(), "mine"), screen: newScreen(), keys: make(chan rune),
		started: make(chan string), finish: make(chan error), canceled: make(chan error, 1), left: make(chan error, 1),
	}
	if err := os.MkdirAll(filepath.Join(l.dir, "cmd"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.save(t, ".stage", "04-status\n")
	go func() {
		l.left <- recheck.Watch(ctx, recheck.Options{
			Root: root, Dir: l.dir, Keys: l.keys, Out: l.screen,
			Check: func(ctx context.Context, dir string, step func(string)) error {
				step("compiling")
				l.started <- dir
				select {
				case err := <-l.finish:
					return err
				case <-ctx.Done():
					l.canceled <- context.Cause(ctx)
					return context.Cause(ctx)
				}
			},
			Hint: func(string) error {
				l.hints++
				return nil
			},
		})
	}()
	return l
}

// save writes a file of the copy in one step: between the two of os.WriteFile, a busy machine lets more time pass than a change is
// waited for, and they are two changes then.
func (l *learner) save(t *testing.T, file, content string) {
	t.Helper()
	hidden := filepath.Join(l.dir, ".new") // which does not count
	if err := errors.Join(os.WriteFile(hidden, []byte(content), 0o600), os.Rename(hidden, filepath.Join(l.dir, file))); err != nil {
		t.Fatal(err)
	}
}

// A save during a check cancels it and starts another one; a save afterwards starts one as well.
func TestWatchChecksAgain(t *testing.T) {
	g := NewWithT(t)
	l := newLearner(t.Context(), t)
	g.Expect(<-l.started).To(Equal(l.dir))
	l.save(t, "cmd/main.go", "package main\n")
	g.Expect(<-l.canceled).To(MatchError("a file has changed"))
	g.Expect(<-l.started).To(Equal(l.dir))
	l.finish <- errors.New("not yet: 3 of 5 features hold")
	l.screen.until(recheck.Keys, 1)

	g.Expect(os.Mkdir(filepath.Join(l.dir, "internal"), 0o755)).To(Succeed()) // what is in it from now on counts, too
	<-l.started
	l.save(t, "internal/new.go", "package internal\n")
	g.Expect(<-l.canceled).To(HaveOccurred())
	<-l.started
	l.finish <- exercises.ErrNotBuilt
	l.screen.until(recheck.Keys, 2)
	l.keys <- 'q'
	g.Expect(<-l.left).To(Succeed())
	g.Expect(l.screen.String()).To(Equal("checking " + l.dir + "\ncompiling…\n" +
		"\ncmd/main.go has changed: checking " + l.dir + "\ncompiling…\nnot yet: 3 of 5 features hold\n\n" + recheck.Keys + "\n" +
		"\ninternal has changed: checking " + l.dir + "\ncompiling…\n" +
		"\ninternal/new.go has changed: checking " + l.dir + "\ncompiling…\n\n" + recheck.Keys + "\n"))
}

// A save is answered at once, and not when the check that it cancels is over.
func TestWatchAnswersAtOnce(t *testing.T) {
	g := NewWithT(t)
	dir, out := t.TempDir(), newScreen()
	keys, started, left := make(chan rune), make(chan struct{}, 2), make(chan error, 1)
	go func() {
		left <- recheck.Watch(t.Context(), recheck.Options{
			Root: root, Dir: dir, Keys: keys, Out: out,
			Check: func(ctx context.Context, _ string, _ func(string)) error {
				started <- struct{}{}
				<-ctx.Done()
				if context.Cause(ctx).Error() == "a file has changed" {
					out.until("main.go has changed: checking ", 1)
				}
				return context.Cause(ctx)
			},
		})
	}()
	<-started
	saved := time.Now()
	g.Expect(os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600)).To(Succeed())
	out.until("main.go has changed: checking ", 1)
	t.Logf("the first line came %v after the save", time.Since(saved).Round(time.Millisecond))
	<-started
	keys <- 'q'
	g.Expect(<-left).To(Succeed())
}

// Whoever leaves waits for the check, which takes down what it has started.
func TestWatchEndsWithItsCheck(t *testing.T) {
	for name, leave := range map[string]func(l *learner, interrupt context.CancelFunc){
		"q":                    func(l *learner, _ context.CancelFunc) { l.keys <- 'q' },
		"Ctrl-C in a terminal": func(l *learner, _ context.CancelFunc) { l.keys <- 3 },
		"a signal":             func(_ *learner, interrupt context.CancelFunc) { interrupt() },
		"a signal, without an input": func(l *learner, interrupt context.CancelFunc) {
			close(l.keys)
			interrupt()
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			l := newLearner(ctx, t)
			<-l.started
			leave(l, interrupt)
			g.Expect(<-l.left).To(Succeed())
			g.Expect(l.canceled).To(HaveLen(1), "the check is over")
		})
	}
}

func TestWatchKeys(t *testing.T) {
	g := NewWithT(t)
	l := newLearner(t.Context(), t)
	<-l.started
	l.keys <- 'n'
	l.keys <- 'h'
	l.keys <- 'l'
	l.keys <- 'x' // none
	l.finish <- errors.New("not yet: 3 of 5 features hold")
	l.screen.until(recheck.Keys, 1)
	l.keys <- 'n'
	l.screen.until("not yet: 3 of 5 features hold\n", 2)
	g.Expect(l.hints).To(Equal(1))
	g.Expect(l.screen.String()).To(And(
		ContainSubstring("wait for the check: it is not done yet\n"),
		ContainSubstring("  TestNodes: status.nodes lists the ready pods, and Available is never True too early\n")))

	// When all features hold, the next chapter is beside this one.
	next := filepath.Join(filepath.Dir(l.dir), chapterAfter(t, "04-status"))
	l.save(t, "cmd/main.go", "package main\n")
	<-l.started
	l.finish <- nil
	l.screen.until(recheck.Keys, 2)
	l.keys <- 'n'
	g.Expect(<-l.started).To(Equal(next))
	g.Expect(l.screen.String()).To(HaveSuffix("checking " + next + "\ncompiling…\n"))
	g.Expect(filepath.Join(next, "go.mod")).To(BeAnExistingFile())
	l.keys <- 'q'
	g.Expect(<-l.left).To(Succeed())
}

// chapterAfter returns the name of the chapter that comes directly after another one.
func chapterAfter(t *testing.T, name string) string {
	t.Helper()
	chapters, _, err := exercises.Names(root)
	if err != nil {
		t.Fatal(err)
	}
	return chapters[slices.Index(chapters, name)+1]
}

// A copy of the next chapter that is there already is gone on with; anything else is left alone.
func TestNext(t *testing.T) {
	g := NewWithT(t)
	l := newLearner(t.Context(), t)
	<-l.started
	l.keys <- 'q'
	g.Expect(<-l.left).To(Succeed())
	following := chapterAfter(t, "04-status")
	next := filepath.Join(filepath.Dir(l.dir), following)
	g.Expect(os.MkdirAll(next, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(next, "mine"), nil, 0o600)).To(Succeed())
	_, err := exercises.Next(t.Context(), root, l.dir, l.screen)
	g.Expect(err).To(MatchError(ContainSubstring("name a new or empty directory")))

	g.Expect(os.WriteFile(filepath.Join(next, ".stage"), []byte(following+"\n"), 0o600)).To(Succeed())
	g.Expect(exercises.Next(t.Context(), root, l.dir, l.screen)).To(Equal(next))
	g.Expect(l.screen.String()).To(HaveSuffix(next + " already exists.\n"))

	l.save(t, ".lab", "no-answer\n")
	g.Expect(exercises.Next(t.Context(), root, l.dir, l.screen)).To(Equal(filepath.Join(filepath.Dir(l.dir), "left-behind")))

	l.save(t, ".stage", "informer-queue\n")
	g.Expect(os.Remove(filepath.Join(l.dir, ".lab"))).To(Succeed())
	_, err = exercises.Next(t.Context(), root, l.dir, l.screen)
	g.Expect(err).To(MatchError(HavePrefix("informer-queue is the last chapter")))
}
