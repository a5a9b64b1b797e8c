package reaper

import "time"

// SetGrace changes how long a process may take to end after a SIGTERM.
func SetGrace(d time.Duration) { grace = d }
