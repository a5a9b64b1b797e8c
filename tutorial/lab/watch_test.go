package lab

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/event"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/recheck"
)

func TestMain(m *testing.M) {
	if os.Getenv(toRunVariable) != "" {
		os.Exit(m.Run()) // with a reaper, what outlives this process would be ended by that
	}
	os.Exit(reaper.Run(m))
}

// whenPrinted closes a channel when a text has been printed.
type whenPrinted struct {
	text    string
	printed chan struct{}

	once sync.Once
	all  bytes.Buffer
}

func (w *whenPrinted) Write(text []byte) (int, error) {
	n, err := w.all.Write(text)
	if strings.Contains(w.all.String(), w.text) {
		w.once.Do(func() { close(w.printed) })
	}
	return n, err
}

// shortDirectory makes a directory for a state, whose sockets allow no long name.
func shortDirectory() (string, error) { return os.MkdirTemp("", "lab-") }

// The whole way: a copy is checked on a cluster that is gone afterwards, however the learner leaves: in the middle of the cluster's start,
// too.
func TestWatchLeavesNothing(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	program := newProgram(t).path
	dir := filepath.Join(t.TempDir(), "mine")
	if err := exercises.Start(t.Context(), root, "02-api", dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	interrupt := func(lab *os.Process, _ io.Writer) error { return lab.Signal(syscall.SIGINT) }
	quit := func(_ *os.Process, keys io.Writer) error {
		_, err := io.WriteString(keys, "q\n")
		return err
	}
	for _, test := range []struct {
		name, after string
		leave       func(lab *os.Process, keys io.Writer) error
		checks      int
	}{
		{"q", recheck.Keys, quit, 1},
		{"Ctrl-C", recheck.Keys, interrupt, 1},
		{"Ctrl-C at once", "checking ", interrupt, 0}, // or 1, if what presses it is late
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			before, err := event.Read(filepath.Join(dir, event.File))
			g.Expect(err).NotTo(HaveOccurred())
			state, err := shortDirectory()
			g.Expect(err).NotTo(HaveOccurred())
			defer os.RemoveAll(state)
			lab := exec.CommandContext(t.Context(), program, "lab", "watch", "--dir="+dir)
			lab.Dir = root
			lab.Env = append(os.Environ(), "TESTBED_STATE="+state)
			out := &whenPrinted{text: test.after, printed: make(chan struct{})}
			lab.Stdout, lab.Stderr = out, out
			keys, err := lab.StdinPipe()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(lab.Start()).To(Succeed())
			ended := make(chan error, 1)
			go func() { ended <- lab.Wait() }()
			select {
			case <-out.printed:
				g.Expect(test.leave(lab.Process, keys)).To(Succeed())
				g.Expect(<-ended).To(Succeed())
			case err := <-ended:
				t.Fatalf("it exited: %v\n%s", err, out.all.String())
			}
			left, err := filepath.Glob(filepath.Join(state, "clusters", "*"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left).To(BeEmpty())
			// The cluster may have something to say first.
			g.Expect(out.all.String()).To(MatchRegexp(`(?m)^checking .*\n(?s:.*)^compiling the suite of 02-api…$`))
			checks := strings.Count(out.all.String(), "\nOutput of the suite: ")
			g.Expect(checks).To(BeNumerically(">=", test.checks), out.all.String())
			g.Expect(event.Read(filepath.Join(dir, event.File))).To(HaveLen(len(before)+checks), out.all.String())
		})
	}
}
