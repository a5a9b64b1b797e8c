package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// plainServer is a webhook server that only knows its hooks, and runs until its context ends.
type plainServer struct {
	webhook.Server
	hooks map[string]http.Handler
}

func (s *plainServer) Register(path string, hook http.Handler) { s.hooks[path] = hook }

func (s *plainServer) Start(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWebhooksAreServedUntilNoMoreRequestsCome(t *testing.T) {
	for name, test := range map[string]struct {
		// requests is how many come after the signal, every tenth of a second.
		requests int
		want     time.Duration
	}{
		"no requests":           {0, drainLeast},
		"requests for a second": {10, time.Second + drainQuiet},
		"requests all the time": {1000, drainLimit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plain := &plainServer{hooks: map[string]http.Handler{}}
				server := &drainingServer{Server: plain}
				server.Register("/mutate", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
				request := func() *httptest.ResponseRecorder {
					recorder := httptest.NewRecorder()
					plain.hooks["/mutate"].ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/mutate", http.NoBody))
					return recorder
				}
				ctx, signal := context.WithCancel(t.Context())
				stopped := make(chan time.Time, 1)
				go func() {
					if err := server.Start(ctx); err == nil {
						t.Error("the inner server's error is lost")
					}
					stopped <- time.Now()
				}()
				<-time.After(time.Minute)
				if response := request(); response.Code != http.StatusTeapot || response.Header().Get("Connection") != "" {
					t.Errorf("response %d with %q, want the hook's, and the connection kept", response.Code, response.Header())
				}
				<-time.After(time.Minute)

				signaled := time.Now()
				signal()
				for range test.requests {
					<-time.After(100 * time.Millisecond)
					if response := request(); response.Code != http.StatusTeapot || response.Header().Get("Connection") != "close" {
						t.Errorf("response %d with %q, want the hook's, and the connection closed", response.Code, response.Header())
					}
				}
				if took := (<-stopped).Sub(signaled); took != test.want {
					t.Errorf("the server stopped after %s, want %s", took, test.want)
				}
			})
		})
	}
}
