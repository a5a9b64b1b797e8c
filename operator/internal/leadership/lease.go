package leadership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// lease is a lock that records until when this replica may write.
type lease struct {
	resourcelock.Interface

	// limit is how long after a renewal this replica may write.
	limit time.Duration
	clock clock.PassiveClock

	// renewed is when this replica last renewed the lease, or nil if it does not hold the lease.
	renewed atomic.Pointer[time.Time]
}

// Get reads the lease, and notices when another replica holds it.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.renewed.Store(nil)
	}
	return record, raw, err
}

// Create acquires a lease that does not exist yet.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update acquires the lease, renews it, or releases it.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lease) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if record.HolderIdentity != l.Identity() {
		// Another replica may acquire the lease before the response arrives.
		l.renewed.Store(nil)
		return write(ctx, record)
	}
	// Other replicas count from when they see the renewal, which is never before it was requested.
	requested := l.clock.Now()
	if err := write(ctx, record); err != nil {
		return err
	}
	l.renewed.Store(&requested)
	return nil
}

// check returns why this replica may not write now, or nil if it may.
func (l *lease) check() error { return check(l.renewed.Load(), l.clock.Now(), l.limit) }

func check(renewed *time.Time, now time.Time, limit time.Duration) error {
	if renewed == nil {
		return errors.New("not written, because this replica does not hold the lease: the leader writes instead")
	}
	if age := now.Sub(*renewed); age >= limit {
		return fmt.Errorf("not written, because this replica renewed its lease %s ago and another one may hold it: "+
			"it writes again once it has renewed the lease within %s", age, limit)
	}
	return nil
}
