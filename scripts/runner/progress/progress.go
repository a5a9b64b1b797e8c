// Package progress runs one command that may be silent for minutes, and shows that it is still running.
package progress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/example/operator-testbed/scripts/runner/process"
)

// Options say how to show it.
type Options struct {
	// What the command is doing, such as "compiling kubectl".
	What string
	// Live changes one line in place, which a terminal can do. Otherwise, each line of progress is printed on a new line.
	Live bool
	// Stdout gets what the command prints there, as it is, and Stderr the progress and what the command prints there.
	Stdout *os.File
	Stderr io.Writer
	Guard  *process.Guard
	// Grace is how long the command may take to end when it is interrupted, and Kill ends the grace when it is closed.
	Grace time.Duration
	Kill  <-chan struct{}
}

// first is when the first line of progress appears: a quicker command shows none. The others follow after later, or, in one place, after
// first again.
const (
	first = time.Second
	later = 5 * time.Second
)

// downloading matches the lines of the Go command and others that serve as progress. They are not shown again at the end.
var downloading = regexp.MustCompile(`^(go: )?downloading `)

// Run runs a command, and returns its exit code. When ctx is done, it interrupts the command and everything that this has started.
func Run(ctx context.Context, o Options, command []string) (int, error) {
	stderr, end, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	defer stderr.Close()
	job, err := o.Guard.Start(process.Command{Args: command, Env: os.Environ(), Stdout: o.Stdout, Stderr: end})
	_ = end.Close()
	if err != nil {
		return 127, err
	}
	var said words
	read := make(chan struct{})
	go func() {
		defer close(read)
		said.read(stderr)
	}()

	begin := time.Now()
	show := func() {
		text := o.What + " ..."
		if latest := said.latest(o.Live); latest != "" {
			text += " (" + latest + ")"
		}
		if seconds := int(time.Since(begin).Seconds()); o.Live {
			fmt.Fprintf(o.Stderr, "\r%6d s  %.68s\033[K", seconds, text)
		} else {
			fmt.Fprintf(o.Stderr, "%6d s  %s\n", seconds, text)
		}
	}
	next := time.NewTimer(first)
	defer next.Stop()
	interrupted := false
	for running := true; running; {
		select {
		case <-next.C:
			show()
			if o.Live {
				next.Reset(first)
			} else {
				next.Reset(later)
			}
		case <-job.Ended():
			running = false
		case <-ctx.Done():
			job.Interrupt(o.Grace, o.Kill)
			interrupted, running = true, false
		}
	}
	code, _, _ := job.Finish()
	_ = stderr.SetReadDeadline(time.Now().Add(drain)) // what could not be killed may hold it open
	<-read
	if o.Live {
		fmt.Fprint(o.Stderr, "\r\033[K")
	}
	if interrupted {
		fmt.Fprintf(o.Stderr, "stopped while %s: nothing is left running, and what is finished is kept\n", o.What)
		return code, nil
	}
	_, err = io.WriteString(o.Stderr, said.last())
	return code, err
}

// drain is how long the last output may take to arrive.
const drain = 5 * time.Second

// words are what a command has printed to standard error.
type words struct {
	mu    sync.Mutex
	lines []string
	shown string // as progress
}

func (w *words) read(from io.Reader) {
	for lines := bufio.NewReader(from); ; {
		text, err := lines.ReadString('\n')
		if text != "" {
			w.mu.Lock()
			// Of the lines that are only progress, the last is enough.
			if n := len(w.lines); n > 0 && downloading.MatchString(w.lines[n-1]) && downloading.MatchString(text) {
				w.lines = w.lines[:n-1]
			}
			w.lines = append(w.lines, text)
			w.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// latest returns the last line, for a line of progress. Where each of these is printed on a new line, one that was shown is not repeated,
// because it is out of date.
func (w *words) latest(again bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) == 0 {
		return ""
	}
	latest := strings.TrimSpace(w.lines[len(w.lines)-1])
	if latest == w.shown && !again {
		return ""
	}
	w.shown = latest
	return latest
}

// last returns what is shown at the end.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	for _, line := range w.lines {
		if !downloading.MatchString(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}
