package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// timeout is how long the cluster may take to become what the Memcached asks
// for. A sound operator needs about a second; a loaded machine may need more.
const timeout = 3 * time.Minute

// Show applies the sample and shows on the screen what becomes of it, until the
// cluster is what it asks for, and returns that state. Times count from begin.
// ready returns why the operator is not ready, or nil: a status says nothing then.
func Show(ctx context.Context, config *rest.Config, sample Sample, screen *Screen, begin time.Time, ready func(context.Context) error) (State, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	show := show{screen: screen, begin: begin}
	err := Follow(bounded, config, sample.Key, func(now State) (bool, error) {
		if show.applied == 0 {
			// Only now is every change seen.
			show.last = now
			var err error
			if show.applied, err = sample.Apply(bounded, config); err != nil {
				return false, err
			}
		}
		if !show.see(now) {
			return false, nil
		}
		return true, believable(bounded, now, ready)
	})
	screen.Close()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errors.Join(
			fmt.Errorf("the cluster is not what the Memcached %s asks for after %s: %s", sample.Key.Name, timeout, show.last.Verdict()),
			believable(ctx, show.last, ready),
		)
	}
	return show.last, err
}

// believable returns an error if the status is that of an operator which is not ready.
func believable(ctx context.Context, now State, ready func(context.Context) error) error {
	if err := ready(ctx); err != nil {
		return fmt.Errorf("the operator is not ready, so the status may be an old one (%s): %w", now.Verdict(), err)
	}
	return nil
}

// show is what is known between two changes.
type show struct {
	screen *Screen
	begin  time.Time
	// applied is the generation of the spec that the sample has.
	applied int64
	last    State
}

// see shows what is new, and reports whether there is nothing more to wait for.
func (s *show) see(now State) bool {
	for _, change := range Changes(s.last, now) {
		s.screen.Line(change.Line(time.Since(s.begin), s.screen.Style()))
	}
	s.last = now
	s.screen.Draw(now)
	return now.Converged() && now.Memcached.Generation >= s.applied
}
