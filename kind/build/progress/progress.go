// Package progress tells a person, or a log, how long work is coming along: one
// line that changes on a terminal, a plain line every few seconds elsewhere.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// How often the line is written. Nobody reads a terminal faster; a log should
// stay short, yet a reader must never wonder whether the work hangs.
const (
	terminalInterval = 200 * time.Millisecond
	logInterval      = 5 * time.Second
)

// Display shows the progress of one piece of work.
type Display struct {
	out      io.Writer
	columns  func() int
	interval time.Duration
	onBroken func(error)
	started  time.Time
	ended    chan struct{}
	ticking  sync.WaitGroup

	mu     sync.Mutex
	state  State
	ticker *time.Ticker
	broken bool
}

// Start begins to show progress on out. columns is the width of the terminal
// that out is, or nil when out is no terminal. onBroken is called once when out
// can't be written any more: whoever wanted to know has gone.
func Start(out io.Writer, columns func() int, onBroken func(error)) *Display {
	d := &Display{
		out:      out,
		columns:  columns,
		interval: logInterval,
		onBroken: onBroken,
		started:  time.Now(),
		ended:    make(chan struct{}),
	}
	if columns != nil {
		d.interval = terminalInterval
	}
	d.ticker = time.NewTicker(d.interval)
	d.ticking.Go(func() {
		for {
			select {
			case <-d.ticker.C:
				d.mu.Lock()
				d.show()
				d.mu.Unlock()
			case <-d.ended:
				return
			}
		}
	})
	return d
}

// Step begins a step and shows it at once.
func (d *Display) Step(state State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = state
	d.show()
	// The next line is due an interval after this one.
	d.ticker.Reset(d.interval)
}

// Update changes what is known about the step. It is shown when it is due.
func (d *Display) Update(state State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = state
}

// Say writes a line that stays.
func (d *Display) Say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf(format, args...) + "\n"
	if d.columns != nil {
		line = erase + line
	}
	d.write(line)
	d.ticker.Reset(d.interval)
}

// Elapsed is the time since Start, in whole seconds.
func (d *Display) Elapsed() time.Duration { return time.Since(d.started).Round(time.Second) }

// Stop ends the display. Nothing of an unfinished line stays on a terminal.
func (d *Display) Stop() {
	d.mu.Lock()
	d.ticker.Stop()
	d.state = State{} // a last tick may be on its way
	if d.columns != nil {
		d.write(erase)
	}
	d.mu.Unlock()
	close(d.ended)
	d.ticking.Wait()
}

func (d *Display) show() {
	if d.state.Doing == "" {
		return
	}
	line := d.state.Line(time.Since(d.started))
	if d.columns == nil {
		d.write(line + "\n")
		return
	}
	d.write(erase + fit(line, d.columns()))
}

// erase removes the changing line of a terminal: back to its first column, and
// erase to its end.
const erase = "\r\x1b[K"

func (d *Display) write(text string) {
	if d.broken {
		return
	}
	if _, err := io.WriteString(d.out, text); err != nil {
		d.broken = true
		d.onBroken(err)
	}
}
