package supervisor

import "time"

const (
	firstPause  = 100 * time.Millisecond
	longestWait = 5 * time.Second
	// settled is how long a run has to last for the next failure to count as
	// the first one again.
	settled = 10 * time.Second
)

// pauseBefore gives the pause before the next start of a process whose last
// pause was last and whose last run took ran. A process that a test kills once
// is back at once for a human eye; one that can't start does not burn the CPU.
func pauseBefore(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= settled {
		return firstPause
	}
	return min(2*last, longestWait)
}
