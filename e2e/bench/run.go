package bench

import (
	"fmt"
	"io"
	"time"
)

// heartbeat is how often the progress of long work is reported.
const heartbeat = 5 * time.Second

// run is one run of a benchmark.
type run struct {
	name     string
	progress io.Writer
	samples  []sample
}

// sample is one value of a measure.
type sample struct {
	name, unit string
	value      float64
}

// measure does some work a number of times, and adds the samples that it keeps to the report. It starts with a run that warms the
// machine up, whose samples don't count.
func (r *Report) measure(progress io.Writer, runs int, work func(*run) error) error {
	for n := range runs + 1 {
		current := &run{name: fmt.Sprintf("run %d of %d", n, runs), progress: progress}
		if n == 0 {
			current.name = "warm-up"
		}
		if err := work(current); err != nil {
			return err
		}
		for _, s := range current.samples {
			if n > 0 {
				r.add(s)
			}
		}
	}
	return nil
}

func (r *run) keep(name, unit string, value float64) {
	r.samples = append(r.samples, sample{name, unit, value})
}

// keepTime keeps a duration, in milliseconds.
func (r *run) keepTime(name string, took time.Duration) {
	r.keep(name, "ms", float64(took.Microseconds())/1000)
}

// time does some work, reports when it starts and every few seconds that it is still running, and returns how long it took.
func (r *run) time(what string, work func() error) (time.Duration, error) {
	fmt.Fprintf(r.progress, "%s: %s\n", r.name, what)
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return time.Since(start), err
		case <-time.After(heartbeat):
			fmt.Fprintf(r.progress, "%s: %s: still running after %.0f s\n", r.name, what, time.Since(start).Seconds())
		}
	}
}
