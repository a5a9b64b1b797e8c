// Package progress shows a person, or a log, how far work has come: one line that
// changes on a terminal, a plain line every few seconds elsewhere.
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

	mu     sync.Mutex
	state  State
	beside State
	next   *time.Timer
	broken bool
}

// Start starts to show progress on out. columns is the width of the terminal
// that out is, or nil when out is not a terminal. onBroken is called once when out
// can't be written any more, because its reader is gone.
func Start(out io.Writer, columns func() int, onBroken func(error)) *Display {
	d := &Display{out: out, columns: columns, interval: logInterval, onBroken: onBroken, started: time.Now()}
	if columns != nil {
		d.interval = terminalInterval
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = time.AfterFunc(d.interval, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.show()
	})
	return d
}

// Step starts a step and shows it at once.
func (d *Display) Step(state State) {
	d.Update(state)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.show()
}

// Update changes what is known about the step. It is shown when it is due.
func (d *Display) Update(state State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = state
}

// Beside changes what is known about work that goes on at the same time as the steps. The
// zero State ends it. It is shown with the step, when that is due.
func (d *Display) Beside(state State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beside = state
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
}

// Elapsed is the time since Start, in whole seconds.
func (d *Display) Elapsed() time.Duration { return time.Since(d.started).Round(time.Second) }

// Stop ends the display. Nothing of an unfinished line stays on a terminal.
func (d *Display) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.columns != nil {
		d.write(erase)
	}
	d.next.Stop()
	d.state = State{} // the next line may be on its way
}

func (d *Display) show() {
	if d.state.Doing == "" {
		return
	}
	line := d.state.Line(time.Since(d.started), d.beside)
	if d.columns == nil {
		d.write(line + "\n")
		return
	}
	d.write(erase + fit(line, d.columns()))
}

// erase removes the changing line of a terminal: back to its first column, and
// erase to its end.
const erase = "\r\x1b[K"

// write writes a text. The next line is due an interval after it.
func (d *Display) write(text string) {
	d.next.Reset(d.interval)
	if d.broken {
		return
	}
	if _, err := io.WriteString(d.out, text); err != nil {
		d.broken = true
		d.onBroken(err)
	}
}
