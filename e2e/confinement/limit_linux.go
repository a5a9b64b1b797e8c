package confinement

import "syscall"

// LowerLimit lowers a resource limit of this process, and so of those that it starts, unless it is lower already.
func LowerLimit(resource int, limit uint64) error {
	var present syscall.Rlimit
	if err := syscall.Getrlimit(resource, &present); err != nil {
		return err
	}
	limit = min(limit, present.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
}
