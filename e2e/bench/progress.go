package bench

import (
	"fmt"
	"io"
	"time"
)

// beat is how often work that takes long is said to go on.
const beat = 5 * time.Second

// telling does some work, and says when it begins and every few seconds that it goes on.
func telling(progress io.Writer, what string, work func() error) error {
	begin := time.Now()
	fmt.Fprintln(progress, what)
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(beat):
			fmt.Fprintf(progress, "%s: still at it after %.0f s\n", what, time.Since(begin).Seconds())
		}
	}
}
