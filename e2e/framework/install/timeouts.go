package install

import (
	"time"
)

const (
	// replaceTimeout bounds the wait until another version of a CustomResourceDefinition is served. It takes some milliseconds.
	replaceTimeout = 10 * time.Minute
	// askAgain is the pause between two requests where there is nothing to watch.
	askAgain = 20 * time.Millisecond
)
