package batch

import "time"

// Cost is what grading one submission takes on average, one at a time on a machine with nothing else to do.
type Cost struct {
	// Time is the time that passes, and CPU the processor time of all its processes.
	Time, CPU time.Duration
}

// Estimate returns how long a machine grades n submissions, given its cores and its free memory in bytes; 0 means that there is enough.
// As many are graded at once as [Parallel] says, and all together can't use more than the cores.
func (c Cost) Estimate(n, cores int, free uint64) time.Duration {
	waiting := time.Duration(n) * c.Time / time.Duration(Parallel(cores, free))
	computing := time.Duration(n) * c.CPU / time.Duration(cores)
	return max(waiting, computing)
}
