package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// patience is how long a Memcached may take to become what it asks to be. A
// sound operator needs about a second; a loaded machine may need more.
const patience = 3 * time.Minute

// Show applies the sample and tells on the screen what becomes of it, until it
// is what it asks to be, and returns that state. Times count from begin.
func Show(ctx context.Context, config *rest.Config, sample Sample, screen *Screen, begin time.Time) (State, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	show := show{screen: screen, begin: begin}
	err := Follow(bounded, config, sample.Key, func(now State) (bool, error) {
		if show.applied == 0 {
			// Only now does every change have a witness.
			show.last = now
			var err error
			if show.applied, err = sample.Apply(bounded, config); err != nil {
				return false, err
			}
		}
		return show.see(now), nil
	})
	screen.Close()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("the Memcached %s is not what it asks to be after %s: %s", sample.Key.Name, patience, show.last.Verdict())
	}
	return show.last, err
}

// show is the memory between two changes.
type show struct {
	screen *Screen
	begin  time.Time
	// applied is the generation of the spec that the sample has.
	applied int64
	last    State
}

// see tells what is new, and returns whether there is nothing more to wait for.
func (s *show) see(now State) bool {
	for _, change := range Changes(s.last, now) {
		s.screen.Line(change.Line(time.Since(s.begin), s.screen.Style()))
	}
	s.last = now
	s.screen.Draw(now)
	return now.Converged() && now.Memcached.Generation >= s.applied
}
