package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// marker is set in the environment of a supervising child, and only there: it
// holds the directory of the group.
const marker = "TESTBED_SUPERVISES"

// What a supervising child inherits, besides its log as stdout and stderr, and as stdin a pipe whose other end the parent holds; the
// parent never writes to it.
const (
	handshakeFD = 3 + iota // a pipe to say on that it has started, or why not
	lockFD                 // the lock of the directory
	firstForeignFD
)

// socketFile is relative to the directory of the group. The child listens on it
// by that name, because the path of a socket may have no more than 104 bytes.
const socketFile = "control.sock"

// Main turns a process that [Start] made into the supervisor, and then never
// returns. In every other process it returns at once. Call it first thing in
// main or TestMain, before flags are parsed.
func Main() {
	dir, ok := os.LookupEnv(marker)
	if !ok {
		return
	}
	// The processes it runs are nobody's supervisors.
	_ = os.Unsetenv(marker)
	if err := supervise(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// supervise is what a supervising child does, in its working directory dir.
func supervise(dir string) error {
	closeForeign()
	handshake := os.NewFile(handshakeFD, "handshake")
	lock := os.NewFile(lockFD, "lock")
	defer lock.Close() // and until then the collector must not close it

	// Catching a signal also gives the processes of the group its default
	// disposition. nohup ignores SIGHUP and a shell's background job SIGINT, which
	// they would inherit; in a session without a terminal neither signal comes
	// by accident.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	born, err := birth(os.Getpid())
	if err != nil {
		fmt.Fprintf(handshake, "find out when the supervisor was started: %v", err)
		return err
	}
	h := newHost(dir, log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds))
	h.born = born
	h.write(func() {})
	listener, err := net.Listen("unix", socketFile)
	if err != nil {
		fmt.Fprintf(handshake, "listen on the control socket: %v", err)
		return err
	}
	// It goes with the directory; by then the name means nothing any more.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)

	// One of three ends the group: the parent's end (at once), a request or a
	// signal (gracefully, for as long as the parent lives).
	parent, orphaned := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if !h.detached.Load() {
			orphaned()
		}
	}()
	asked, ask := context.WithCancel(parent)
	go func() {
		h.logf("got the signal %v", <-signals)
		ask()
	}()
	closed := make(chan error, 1)
	server := &http.Server{ErrorLog: h.log, Handler: h.handler(asked.Done(), func() error {
		ask()
		err := <-closed
		closed <- err // for the next who asks
		return err
	})}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.logf("serve the control socket: %v", err)
		}
	}()

	// A parent that can't read this any more has closed the lifeline too.
	_, _ = io.WriteString(handshake, started)
	_ = handshake.Close()
	<-asked.Done()
	err = h.close(parent)
	closed <- err
	// Whoever asked over the socket gets the answer before we end.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = server.Shutdown(ctx)
	return err
}

// started is what a supervising child says when all is well; anything else is
// an error.
const started = "started"

// closeForeign closes every file that came from the parent without being
// meant for us: a shell's pipe, say, whose reader would wait for our end.
// Everything that Go opens is close-on-exec, so what isn't was inherited.
func closeForeign() {
	for fd := range firstForeignFD {
		if fd > int(os.Stderr.Fd()) {
			syscall.CloseOnExec(fd)
		}
	}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // no such directory: nothing to go by
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < firstForeignFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
}

// handler serves the methods that Supervisor calls. closing is closed when the
// group is about to end.
func (h *host) handler(closing <-chan struct{}, shutdown func() error) http.Handler {
	mux := http.NewServeMux()
	serve(mux, "closing", func(ctx context.Context, _ struct{}) (struct{}, error) {
		select {
		case <-closing:
			return struct{}{}, nil
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
	})
	serve(mux, "info", func(context.Context, struct{}) (Info, error) {
		return Info{PID: os.Getpid(), Birth: h.born, Detached: h.detached.Load()}, nil
	})
	serve(mux, "detach", func(context.Context, struct{}) (struct{}, error) {
		h.detached.Store(true)
		return struct{}{}, nil
	})
	serve(mux, "shutdown", func(context.Context, struct{}) (struct{}, error) {
		return struct{}{}, shutdown()
	})
	serve(mux, "run", func(_ context.Context, p Process) (struct{}, error) {
		return struct{}{}, h.run(p)
	})
	serve(mux, "status", func(context.Context, struct{}) ([]ProcessStatus, error) {
		return h.status(), nil
	})
	serve(mux, "wait", func(ctx context.Context, r request) (ExitStatus, error) {
		c, err := h.find(r.Name)
		if err != nil {
			return ExitStatus{}, err
		}
		return c.wait(ctx)
	})
	for method, act := range map[string]func(context.Context, *child) error{
		"stop":    func(ctx context.Context, c *child) error { return c.stop(ctx, c.spec.Grace) },
		"start":   func(_ context.Context, c *child) error { return c.start() },
		"restart": func(ctx context.Context, c *child) error { return c.restart(ctx) },
		"kill":    func(ctx context.Context, c *child) error { return c.kill(ctx) },
		"pause":   func(_ context.Context, c *child) error { return c.setPaused(true) },
		"resume":  func(_ context.Context, c *child) error { return c.setPaused(false) },
		"remove":  func(ctx context.Context, c *child) error { return h.remove(ctx, c) },
	} {
		serve(mux, method, func(ctx context.Context, r request) (struct{}, error) {
			c, err := h.find(r.Name)
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, act(ctx, c)
		})
	}
	serve(mux, "tasks", func(context.Context, struct{}) ([]string, error) {
		return h.taskNames(), nil
	})
	serve(mux, "run-task", func(ctx context.Context, r taskRequest) (json.RawMessage, error) {
		return h.runTask(ctx, r.Name, r.Func, r.Args)
	})
	serve(mux, "stop-task", func(ctx context.Context, r taskRequest) (struct{}, error) {
		return struct{}{}, h.stopTask(ctx, r.Name)
	})
	return mux
}

// Info describes a supervisor.
type Info struct {
	// PID is the process id of the supervisor.
	PID int `json:"pid"`
	// Birth distinguishes the supervisor from any other process that had or will have its id.
	Birth string `json:"birth"`
	// Detached is true if it outlives the process that started it.
	Detached bool `json:"detached"`
}

// request names a process.
type request struct {
	Name string `json:"name"`
}

type taskRequest struct {
	Name string          `json:"name"`
	Func string          `json:"func,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// serve serves one method: JSON in, JSON out, an error as plain text.
func serve[In, Out any](mux *http.ServeMux, method string, do func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST /"+method, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := do(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		_ = json.NewEncoder(w).Encode(out) // the caller notices a broken line
	})
}
