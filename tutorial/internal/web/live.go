package web

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Live hands out its latest value as server-sent events, first as it is and then each time it changes. A stream that is too slow
// for some values skips them, because only the latest is true. So nothing is kept for browsers that are away.
//
// Browsers open at most six connections to a server, so the pages of all tabs share one stream: see stream.js.
type Live struct {
	mu      sync.Mutex
	value   []byte
	changed chan struct{} // closed when there is another value, and replaced
	closed  chan struct{}
	streams int
}

// The number of streams, of one browser each, and how often each shows that it is alive.
const (
	mostStreams = 64
	heartbeat   = 15 * time.Second
	writeLimit  = 10 * time.Second
)

// NewLive returns a Live without a value.
func NewLive() *Live { return &Live{changed: make(chan struct{}), closed: make(chan struct{})} }

// Set changes the value.
func (l *Live) Set(value []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.value != nil && bytes.Equal(l.value, value) {
		return
	}
	l.value = value
	close(l.changed)
	l.changed = make(chan struct{})
}

// Close ends all streams.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}

// ServeHTTP writes events until the browser goes or Close is called.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !l.join() {
		http.Error(w, "too many browsers show this page: close one", http.StatusServiceUnavailable)
		return
	}
	defer l.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	// send writes and flushes in a limited time: otherwise, a browser that has stopped reading would keep this forever.
	send := func(text []byte) bool {
		err := stream.SetWriteDeadline(time.Now().Add(writeLimit))
		if err == nil || errors.Is(err, http.ErrNotSupported) {
			_, err = w.Write(text)
		}
		return err == nil && stream.Flush() == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if !send([]byte("retry: 1000\n\n")) {
		return
	}
	for seen := []byte(nil); ; {
		value, changed := l.latest()
		if value != nil && !bytes.Equal(value, seen) {
			if !send(message(value)) {
				return
			}
			seen = value
		}
		select {
		case <-changed:
		case <-beat.C:
			if !send([]byte(":\n\n")) {
				return
			}
		case <-l.closed:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (l *Live) latest() ([]byte, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.changed
}

func (l *Live) join() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == mostStreams {
		return false
	}
	l.streams++
	return true
}

func (l *Live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
}

// message is an event: each line of the value is one of its own, so that no value can write another field.
func message(value []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(value) {
		out.WriteString("data: ")
		out.Write(bytes.ReplaceAll(bytes.TrimRight(line, "\n"), []byte("\r"), nil))
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}
