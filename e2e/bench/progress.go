package bench

import (
	"fmt"
	"io"
	"time"
)

// beat is how often work that takes long is said to go on.
const beat = 5 * time.Second

// telling does some work, says when it begins and every few seconds that it goes on, and returns how long it took.
func telling(progress io.Writer, what string, work func() error) (time.Duration, error) {
	fmt.Fprintln(progress, what)
	begin := time.Now()
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return time.Since(begin), err
		case <-time.After(beat):
			fmt.Fprintf(progress, "%s: still at it after %.0f s\n", what, time.Since(begin).Seconds())
		}
	}
}

// repeated does some work a number of times, after once that warms the machine up, and returns the milliseconds that it says it
// took.
func repeated(progress io.Writer, what string, runs int, work func() (time.Duration, error)) (samples []float64, err error) {
	for run := range runs + 1 {
		var took time.Duration
		if _, err := telling(progress, roundOf(run, runs)+": "+what, func() (err error) {
			took, err = work()
			return err
		}); err != nil {
			return nil, err
		}
		if run > 0 {
			samples = append(samples, milliseconds(took))
		}
	}
	return samples, nil
}
