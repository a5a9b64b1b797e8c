package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/recheck"
)

// runWatch checks the copy in dir again and again, on one cluster, which is gone when it returns.
func (r recorder) runWatch(ctx context.Context, dir string, in, terminal *os.File) (err error) {
	if _, _, err := exercises.Of(r.root, dir); err != nil {
		return err
	}
	out := &screen{out: terminal}
	if term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(terminal.Fd())) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		out.raw = true
		defer func() { _ = term.Restore(int(in.Fd()), before) }()
	}
	keys := make(chan rune)
	go readKeys(ctx, in, out.raw, keys)
	r.warn = out

	cluster := startCluster(ctx, r.root, out)
	defer func() { err = errors.Join(err, cluster.destroy()) }()
	return recheck.Watch(ctx, recheck.Options{
		Root: r.root, Dir: dir, Keys: keys, Out: out,
		Check: func(ctx context.Context, dir string, step func(string)) error {
			_, err := r.runCheck(ctx, exercises.CheckInput{Dir: dir, Out: out, Cluster: cluster.variables, Step: step})
			return err
		},
		Hint: func(dir string) error { return r.runHint(dir, 0, 0, out) },
	})
}

// readKeys sends what is pressed: each key of a terminal, and otherwise the first character of each line.
func readKeys(ctx context.Context, in io.Reader, each bool, keys chan<- rune) {
	defer close(keys)
	for reader := bufio.NewReader(in); ; {
		var key rune
		var err error
		if each {
			key, _, err = reader.ReadRune()
		} else {
			var line string
			line, err = reader.ReadString('\n')
			key, _ = utf8.DecodeRuneInString(line)
		}
		if err != nil && (key == 0 || key == utf8.RuneError) { // nothing was read
			return
		}
		select {
		case keys <- key:
		case <-ctx.Done():
			return
		}
	}
}

// screen is a terminal, or a file. Several goroutines may write to it.
type screen struct {
	mu  sync.Mutex
	out io.Writer
	raw bool // a line feed does not return to the first column
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := text
	if s.raw {
		written = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	if _, err := s.out.Write(written); err != nil {
		return 0, err
	}
	return len(text), nil
}

// cluster is an embedded cluster that is started while the first operator is being compiled. It ends with this program at the latest.
type cluster struct {
	name     string
	provider *embedded.Provider
	stop     context.CancelFunc // gives up its start
	started  chan struct{}      // closed when err is known
	err      error
}

func startCluster(ctx context.Context, root string, progress io.Writer) *cluster {
	ctx, stop := context.WithCancel(ctx)
	c := &cluster{name: fmt.Sprintf("watch-%d", os.Getpid()), provider: embedded.NewProvider(), stop: stop, started: make(chan struct{})}
	go func() {
		defer close(c.started)
		// It has both kinds from its start, because adding one later takes the cluster longer than replacing a version.
		options := []string{filepath.Join(root, "operator", "config", "crd", "bases"), filepath.Join(root, "tutorial", "10-finalizers", "config", "crd", "bases")}
		_, c.err = c.provider.WithName(c.name).WithOpts(embedded.WithCRDs(options...), embedded.WithProgress(progress)).Create(ctx)
	}()
	return c
}

// variables returns the variables that have suites run on the cluster, as soon as it has started.
func (c *cluster) variables(ctx context.Context) ([]string, error) {
	select {
	case <-c.started:
		return []string{"TESTBED_CLUSTER=" + c.name}, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// destroy stops the cluster, or its start.
func (c *cluster) destroy() error {
	c.stop()
	<-c.started
	return c.provider.Destroy(context.Background())
}
