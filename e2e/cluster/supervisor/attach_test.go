package supervisor

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
)

// A supervisor that answers may exit before anything else is asked about it:
// a list of clusters meets those of others that are being shut down.
func TestAttachToOneThatHasJustGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "group")
	lock, err := acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the path of a socket may have no more than 104 bytes
	listener, err := net.Listen("unix", socketFile)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /info", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(Info{PID: gone.Process.Pid, Birth: "of a process that has gone"})
	})
	mux.HandleFunc("POST /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100") // it was killed before it had written so much
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()

	s, err := Attach(dir)
	if err != nil {
		t.Fatalf("expected a handle on a supervisor that answered, got %v", err)
	}
	if _, err := s.Status(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("half an answer: expected %v, got %v", ErrUnreachable, err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Info(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("no answer: expected %v, got %v", ErrUnreachable, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("expected Shutdown to find nothing but a directory to remove, got %v", err)
	}
	if _, err := Attach(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("expected %v, got %v", ErrNotRunning, err)
	}
}
