package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// drainLeast is how long the webhook server goes on at least, and drainQuiet how long after the last request. While there are
	// requests, some API server does not know yet that this replica is going.
	drainLeast = 300 * time.Millisecond
	drainQuiet = time.Second

	// drainLimit is the longest time for which the webhook server goes on, half of the grace period of the pod.
	drainLimit = 5 * time.Second
)

// drainingServer is a webhook server that goes on serving when it is asked to stop, until no more requests come. controller-runtime's
// own server refuses connections at once, so requests fail until every API server has learned that the pod is no longer an endpoint of
// the Service.
type drainingServer struct {
	webhook.Server
	draining atomic.Bool
	// last is when the last request came, in nanoseconds of Unix time.
	last atomic.Int64
}

// Register implements webhook.Server.
func (s *drainingServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.last.Store(time.Now().UnixNano())
		if s.draining.Load() {
			// The next request comes by a new connection, to another replica.
			w.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(w, request)
	}))
}

// Start implements webhook.Server. It returns when the server has stopped, a while after ctx has ended.
func (s *drainingServer) Start(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	context.AfterFunc(ctx, func() {
		s.drain()
		stop()
	})
	return s.Server.Start(serving)
}

// drain returns when no requests have come for a while.
func (s *drainingServer) drain() {
	s.draining.Store(true)
	start := time.Now()
	for {
		least, quiet := start.Add(drainLeast), time.Unix(0, s.last.Load()).Add(drainQuiet)
		rest := min(max(time.Until(least), time.Until(quiet)), time.Until(start.Add(drainLimit)))
		if rest <= 0 {
			return
		}
		<-time.After(rest)
	}
}
