package recheck

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// patience is how long a step may take before a line says that it goes on. Ten seconds without a word look like a program that hangs.
const patience = 5 * time.Second

// steps prints what a check does, and that it still does it.
type steps struct {
	out    io.Writer
	began  time.Time
	ticker *time.Ticker
	done   chan struct{}
	ended  sync.WaitGroup

	mu   sync.Mutex
	what string // the current step, or empty
}

func startSteps(out io.Writer) *steps {
	s := &steps{out: out, began: time.Now(), ticker: time.NewTicker(patience), done: make(chan struct{})}
	s.ended.Go(s.remind)
	return s
}

// next prints the name of the next step at once.
func (s *steps) next(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what = what
	s.ticker.Reset(patience)
	fmt.Fprintf(s.out, "%s…\n", what)
}

// remind prints the name of a step again while it goes on.
func (s *steps) remind() {
	for {
		select {
		case <-s.done:
			return
		case <-s.ticker.C:
			s.mu.Lock()
			if s.what != "" {
				fmt.Fprintf(s.out, "still %s… (%d s)\n", s.what, int(time.Since(s.began).Seconds()))
			}
			s.mu.Unlock()
		}
	}
}

// stop returns when nothing more is printed.
func (s *steps) stop() {
	s.ticker.Stop()
	close(s.done)
	s.ended.Wait()
}
