package isolation

import (
	"fmt"
	"io"
)

// tail passes on the first bytes that are written to it, up to half of a limit, and keeps as many of the last ones.
type tail struct {
	to      io.Writer
	half    int64
	passed  int64
	kept    []byte
	dropped int64
	err     error // of to; the writer gets none, or it would take its reader for gone
}

// newTail returns a tail of limit bytes in all. Zero means no limit.
func newTail(to io.Writer, limit int64) *tail {
	if to == nil {
		to = io.Discard
	}
	return &tail{to: to, half: limit / 2}
}

// Write takes everything.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if t.half == 0 {
		t.pass(p)
		return n, nil
	}
	first := min(int64(len(p)), t.half-t.passed)
	t.pass(p[:first])
	t.passed += first
	t.kept = append(t.kept, p[first:]...)
	// Only now and then, or each byte would move all others.
	if over := int64(len(t.kept)) - t.half; over > t.half {
		t.dropped += over
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return n, nil
}

func (t *tail) pass(p []byte) {
	if t.err == nil && len(p) > 0 {
		_, t.err = t.to.Write(p)
	}
}

// Close passes on what was kept, behind a line that says how much is missing, if anything is.
func (t *tail) Close() error {
	if over := int64(len(t.kept)) - t.half; over > 0 {
		t.dropped += over
		t.kept = t.kept[over:]
	}
	if t.dropped > 0 {
		t.pass(fmt.Appendf(nil, "\n[%d bytes are left out]\n", t.dropped))
	}
	t.pass(t.kept)
	return t.err
}
