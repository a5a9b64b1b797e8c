// Package forwarder plays the Service of an operator's webhooks, within a supervisor.
package forwarder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/runner/probe"
)

const (
	// closeTimeout is how long a client may take to close a connection to a webhook that is being cut. An API server does so at once,
	// unless it is paused: one that has much else to do must not send another request this way.
	closeTimeout = 30 * time.Second
	// probePeriod is the shortest that a pod's readiness probe can have.
	probePeriod = time.Second
)

// forwarder plays the Service of an operator's webhooks: it takes connections and carries each to a replica that is ready. It
// does not look into them: TLS is between the API server and the operator.
//
// A Service leaves connections to a replica that is not ready any more alone, and the API server keeps connections for later
// requests. Here they are cut, so that a replica which is held by a SIGSTOP, for whom the kernel goes on accepting, does not
// get another request. Those of a replica that is being stopped stay, so that it can finish what has begun.
type forwarder struct {
	status func() []supervisor.ProcessStatus
	logf   func(format string, args ...any)
	// probing is how long a replica may take to answer, and closing how long a client may take to close a connection that is cut.
	probing, closing time.Duration

	mu        sync.Mutex
	endpoints []Endpoint
	turn      int // whose turn the next connection is
	links     map[*link]Endpoint
}

func newForwarder(status func() []supervisor.ProcessStatus, logf func(string, ...any)) *forwarder {
	return &forwarder{status: status, logf: logf, probing: probe.Timeout, closing: closeTimeout, links: map[*link]Endpoint{}}
}

// run forwards until ctx is done, and returns when every connection is closed.
func (f *forwarder) run(ctx context.Context, listener net.Listener) {
	var all sync.WaitGroup
	context.AfterFunc(ctx, func() { listener.Close() })
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			all.Go(func() { f.forward(ctx, client.(*net.TCPConn)) })
		}
	})
	ticker := time.NewTicker(probePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			f.settle(ctx, nil)
			all.Wait()
			return
		case <-ticker.C:
			f.cutUnready(ctx)
		}
	}
}

// settle makes the endpoints those that connections go to, and returns when there is none to another or an unready one.
func (f *forwarder) settle(ctx context.Context, endpoints []Endpoint) {
	f.mu.Lock()
	f.endpoints = endpoints
	f.mu.Unlock()
	f.cutUnready(ctx)
}

// forward carries one connection to a replica that is ready, or resets it when there is none: a connection to a pod that does not listen
// is refused, and does not end like one that the pod closes.
func (f *forwarder) forward(ctx context.Context, client *net.TCPConn) {
	l, err := f.connect(ctx, client)
	if err != nil {
		f.logf("refused a request: %v", err)
		_ = client.SetLinger(0)
		client.Close()
		return
	}
	l.carry()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.links, l)
}

func (f *forwarder) connect(ctx context.Context, client *net.TCPConn) (*link, error) {
	err := errors.New("no replica is ready")
	for _, e := range f.inTurn() {
		if !e.Leaving && !f.ready(ctx, e) {
			continue
		}
		dialer := net.Dialer{Timeout: f.probing}
		replica, dialErr := dialer.DialContext(ctx, "tcp", e.Webhook)
		if dialErr != nil && e.Leaving {
			return nil, fmt.Errorf("%s does not serve webhooks any more, and is still an endpoint: %w", e.Process, dialErr)
		}
		if dialErr != nil {
			err = fmt.Errorf("%s is ready but does not serve webhooks: %w", e.Process, dialErr)
			continue
		}
		l := &link{client: client, replica: replica.(*net.TCPConn), done: make(chan struct{})}
		if f.add(l, e) {
			return l, nil
		}
		replica.Close()
	}
	return nil, err
}

// inTurn returns the endpoints, beginning with another one each time.
func (f *forwarder) inTurn() []Endpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	endpoints := slices.DeleteFunc(slices.Clone(f.endpoints), func(e Endpoint) bool { return e.Withdrawn })
	if len(endpoints) == 0 {
		return nil
	}
	first := f.turn % len(endpoints)
	f.turn++
	return slices.Concat(endpoints[first:], endpoints[:first])
}

// add takes a link in charge, unless its endpoint has gone meanwhile.
func (f *forwarder) add(l *link, e Endpoint) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.endpoints, e) {
		return false
	}
	f.links[l] = e
	return true
}

// ready is what a kubelet finds out about a pod: that its process runs and its readiness probe succeeds.
func (f *forwarder) ready(ctx context.Context, e Endpoint) bool {
	runs := slices.ContainsFunc(f.status(), func(p supervisor.ProcessStatus) bool {
		return p.Name == e.Process && p.State == supervisor.Running
	})
	if !runs {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, f.probing)
	defer cancel()
	return probe.Ready(ctx, e.Health) == nil
}

// cutUnready ends the links to endpoints that have gone or are not ready, and returns when both sides have let go of them.
func (f *forwarder) cutUnready(ctx context.Context) {
	f.mu.Lock()
	byEndpoint := map[Endpoint][]*link{}
	for l, e := range f.links {
		byEndpoint[e.address()] = append(byEndpoint[e.address()], l)
	}
	var current []Endpoint
	for _, e := range f.endpoints {
		if e.Leaving || e.Withdrawn {
			delete(byEndpoint, e.address())
		} else {
			current = append(current, e)
		}
	}
	f.mu.Unlock()
	var all sync.WaitGroup
	for e, links := range byEndpoint {
		all.Go(func() {
			if slices.Contains(current, e) && f.ready(ctx, e) || f.isStopping(e) {
				return
			}
			for _, l := range links {
				all.Go(func() { l.cut(ctx, f.closing) })
			}
		})
	}
	all.Wait()
}

// isStopping reports whether an endpoint is being stopped by now, so that it need not be ready.
func (f *forwarder) isStopping(e Endpoint) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.endpoints, func(now Endpoint) bool { return now.address() == e && (now.Leaving || now.Withdrawn) })
}

// link is a connection that is being carried.
type link struct {
	client, replica *net.TCPConn
	done            chan struct{} // closed when both connections are
}

// carry carries bytes both ways until both sides have ended.
func (l *link) carry() {
	defer close(l.done)
	var toReplica sync.WaitGroup
	toReplica.Go(func() {
		_, _ = io.Copy(l.replica, l.client) // an end is an end, in whatever way
		_ = l.replica.CloseWrite()
	})
	_, _ = io.Copy(l.client, l.replica)
	// The client reads the end and closes: from then on it sends no request this way.
	_ = l.client.CloseWrite()
	toReplica.Wait()
	l.client.Close()
	l.replica.Close()
}

// cut ends the link from the replica's side and returns when the client knows, or has had its time.
func (l *link) cut(ctx context.Context, closing time.Duration) {
	l.replica.Close()
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.client.Close()
		<-l.done
	}
}
