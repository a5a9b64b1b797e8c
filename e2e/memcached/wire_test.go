package memcached

import (
	"cmp"
	"context"
	"io"
	"math"
	"net"
	"net/url"
	"sync"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/loopback"
)

// wire is the operator's way to the API server. A test can cut it.
type wire struct {
	server   string // the API server's host:port
	listener net.Listener

	mu    sync.Mutex
	ends  map[net.Conn]bool // of the connections that are open
	whole chan struct{}     // closed while the wire is not cut
	worn  []int64           // after how many bytes from the server the next connections break
}

// behindWire restarts the operator behind a wire. It lasts until the operator's next restart; the wire goes with the test.
func behindWire(ctx context.Context, s *framework.Scope, changes ...runner.Change) *wire {
	s.Helper()
	server, err := url.Parse(s.Config.Host)
	if err != nil {
		s.Fatal(err)
	}
	listener, err := loopback.Listen()
	if err != nil {
		s.Fatal(err)
	}
	w := &wire{server: server.Host, listener: listener, ends: map[net.Conn]bool{}, whole: make(chan struct{})}
	close(w.whole)
	s.Cleanup(func() {
		restart(context.WithoutCancel(ctx), s) // on the way that is whole, on which the next one finds the lease given back
		_ = listener.Close()
		w.wear()
	})
	go w.serve()

	via := s.Via(ctx, func(cluster *clientcmdapi.Cluster) {
		cluster.Server = "https://" + listener.Addr().String()
		cluster.TLSServerName = cmp.Or(cluster.TLSServerName, server.Hostname())
	})
	restart(ctx, s, append(changes, via)...)
	return w
}

func (w *wire) serve() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return // closed
		}
		go w.connect(near)
	}
}

func (w *wire) connect(near net.Conn) {
	defer near.Close()
	<-w.passable()
	far, err := net.Dial("tcp", w.server)
	if err != nil {
		return // the API server is away, and so is the connection
	}
	defer far.Close()
	limit := w.open(near, far)
	defer w.closed(near, far)
	go func() {
		_, _ = io.Copy(far, near) // until either end closes
		far.Close()
	}()
	_, _ = io.CopyN(near, far, limit)
}

// passable returns a channel that is closed when connections get through.
func (w *wire) passable() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whole
}

// open takes note of a connection, and returns after how many bytes it breaks.
func (w *wire) open(ends ...net.Conn) (limit int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range ends {
		w.ends[end] = true
	}
	if len(w.worn) == 0 {
		return math.MaxInt64
	}
	limit, w.worn = w.worn[0], w.worn[1:]
	return limit
}

func (w *wire) closed(ends ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range ends {
		delete(w.ends, end)
	}
}

// cut breaks all connections. New ones hang until restore: if they were refused, the operator would wait longer each time, and
// go on long after the wire is restored.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = make(chan struct{})
	w.breakAll()
}

func (w *wire) breakAll() {
	for end := range w.ends {
		end.Close()
	}
}

// restore lets connections through again.
func (w *wire) restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.whole)
}

// wear breaks all connections, and each of the next ones when it has brought so many bytes from the server.
func (w *wire) wear(after ...int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worn = after
	w.breakAll()
}

// left returns how many connections have yet to come that will break.
func (w *wire) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.worn)
}
