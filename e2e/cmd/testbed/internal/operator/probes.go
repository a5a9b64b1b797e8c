package operator

import (
	"bytes"
	"io"
)

// probeFailed is what controller-runtime logs for each probe that fails. Only we
// probe an operator in the foreground, many times a second until it is ready.
var probeFailed = []byte("healthz check failed")

// withoutProbes is a writer of a log that leaves out the lines about our probes.
type withoutProbes struct {
	io.Writer
	rest []byte // a line that has no end yet
}

func (w *withoutProbes) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if !bytes.Contains(line, probeFailed) {
			if _, err := w.Writer.Write(w.rest[:len(line)+1]); err != nil {
				return 0, err
			}
		}
		w.rest = rest
	}
}
