package forwarder

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/loopback"
)

// actor plays a replica: behind its webhook address, it answers every line with its name.
type actor struct {
	Endpoint
	state   supervisor.State
	unready atomic.Bool
}

func newActor(t *testing.T, name string) *actor {
	t.Helper()
	a := &actor{Endpoint: Endpoint{Process: name}, state: supervisor.Running}
	health := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if a.unready.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(health.Close)
	a.Health = health.Listener.Addr().String()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	a.Webhook = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					_, _ = io.WriteString(conn, name+"\n")
				}
			}()
		}
	}()
	return a
}

// stage is a forwarder that runs, and the actors it can forward to.
type stage struct {
	*forwarder
	address string
	mu      sync.Mutex // of the actors' states
}

func newStage(t *testing.T, actors ...*actor) *stage {
	t.Helper()
	return newStageClosing(t, time.Minute, actors...)
}

// newStageClosing is newStage with the time that a client may take to close a connection that is cut: for clients that do not close, none.
func newStageClosing(t *testing.T, closing time.Duration, actors ...*actor) *stage {
	t.Helper()
	listener, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{address: listener.Addr().String()}
	s.forwarder = newForwarder(func() (list []supervisor.ProcessStatus) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, a := range actors {
			list = append(list, supervisor.ProcessStatus{Name: a.Process, State: a.state})
		}
		return list
	}, t.Logf)
	s.probing, s.closing = time.Minute, closing // nobody here hangs, however slow the machine is
	var endpoints []Endpoint
	for _, a := range actors {
		endpoints = append(endpoints, a.Endpoint)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx, listener)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended // also with connections that a test left open
	})
	s.settle(t.Context(), endpoints)
	return s
}

func (s *stage) set(a *actor, state supervisor.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.state = state
}

// visit is a client's connection.
type visit struct {
	net.Conn
	replies *bufio.Reader
}

func (s *stage) dial(t *testing.T) visit {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return visit{conn, bufio.NewReader(conn)}
}

// ask returns who answers; nobody does on a connection that was cut.
func (d visit) ask() string {
	_, _ = io.WriteString(d, "who?\n") // the reply tells
	reply, err := d.replies.ReadString('\n')
	if err != nil {
		return ""
	}
	return reply[:len(reply)-1]
}

func TestForwarderTakesTurns(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, newActor(t, "one"), newActor(t, "two"))
	g.Expect([]string{s.dial(t).ask(), s.dial(t).ask()}).To(ConsistOf("one", "two"))
}

func TestForwarderPassesOverWhoIsNotReady(t *testing.T) {
	g := NewWithT(t)
	paused, unready, silent, well := newActor(t, "paused"), newActor(t, "unready"), newActor(t, "silent"), newActor(t, "well")
	paused.state = supervisor.Paused
	unready.unready.Store(true)
	silent.Webhook = "127.0.0.1:0" // ready, yet nobody can listen there
	s := newStage(t, paused, unready, silent, well)
	for range 8 {
		g.Expect(s.dial(t).ask()).To(Equal("well"))
	}
}

func TestForwarderWithNobodyReadyClosesAtOnce(t *testing.T) {
	g := NewWithT(t)
	a := newActor(t, "one")
	s := newStage(t, a)
	reset := func() error {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
		return err
	}
	s.set(a, supervisor.Exited)
	g.Expect(reset()).To(MatchError(syscall.ECONNRESET))
	s.settle(t.Context(), nil)
	g.Expect(reset()).To(MatchError(syscall.ECONNRESET))
}

func TestSettleCutsTheConnectionsOfWhoIsHeld(t *testing.T) {
	g := NewWithT(t)
	a, b := newActor(t, "a"), newActor(t, "b")
	s := newStage(t, a, b)
	byName := map[string]visit{}
	for range 2 {
		d := s.dial(t)
		byName[d.ask()] = d
	}
	s.set(a, supervisor.Paused)
	seen := make(chan error, 1)
	go func() { // as the API server does with a connection that it keeps
		_, err := byName["a"].replies.ReadByte()
		seen <- err
		byName["a"].Close()
	}()
	s.settle(t.Context(), []Endpoint{a.Endpoint, b.Endpoint})
	g.Expect(seen).To(Receive(Equal(io.EOF)), "the client knows when settle returns")
	g.Expect(byName["b"].ask()).To(Equal("b"), "who is well keeps its connections")
	g.Expect(s.dial(t).ask()).To(Equal("b"))

	s.set(a, supervisor.Running)
	g.Expect([]string{s.dial(t).ask(), s.dial(t).ask()}).To(ConsistOf("a", "b"), "it goes on without being told")
}

// A Service sends no more connections to a pod that is being stopped, and leaves those alone that the pod has.
func TestSettleLeavesTheConnectionsOfWhoIsBeingStopped(t *testing.T) {
	g := NewWithT(t)
	a, b := newActor(t, "a"), newActor(t, "b")
	s := newStageClosing(t, 0, a, b)
	byName := map[string]visit{}
	for range 2 {
		d := s.dial(t)
		byName[d.ask()] = d
	}
	leaving, withdrawn := a.Endpoint, a.Endpoint
	leaving.Leaving = true
	s.settle(t.Context(), []Endpoint{leaving, b.Endpoint})
	a.unready.Store(true) // only now, because the forwarder also looks every second
	s.cutUnready(t.Context())
	g.Expect([]string{s.dial(t).ask(), s.dial(t).ask()}).To(ConsistOf("a", "b"))
	withdrawn.Withdrawn = true
	s.settle(t.Context(), []Endpoint{withdrawn, b.Endpoint})
	g.Expect([]string{s.dial(t).ask(), s.dial(t).ask()}).To(ConsistOf("b", "b"))
	g.Expect(byName["a"].ask()).To(Equal("a"))
	s.settle(t.Context(), []Endpoint{b.Endpoint})
	g.Expect(byName["a"].ask()).To(BeEmpty())
}

func TestSettleCutsTheConnectionsOfAnEarlierRun(t *testing.T) {
	g := NewWithT(t)
	before, after := newActor(t, "before"), newActor(t, "after")
	after.Process = before.Process // started again, on other ports
	s := newStageClosing(t, 0, before)
	old := s.dial(t)
	g.Expect(old.ask()).To(Equal("before"))
	s.settle(t.Context(), []Endpoint{after.Endpoint})
	g.Expect(old.ask()).To(BeEmpty())
	g.Expect(s.dial(t).ask()).To(Equal("after"))
}

func TestForwarderFindsOutByItself(t *testing.T) {
	g := NewWithT(t)
	a := newActor(t, "a")
	s := newStage(t, a)
	d := s.dial(t)
	g.Expect(d.ask()).To(Equal("a"))
	a.unready.Store(true)
	_, err := d.replies.ReadByte() // ends at the latest with the deadline, which is another error
	g.Expect(err).To(Equal(io.EOF))
}

func TestForwarderPassesOnAnEnd(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, newActor(t, "a"))
	d := s.dial(t)
	g.Expect(d.ask()).To(Equal("a"))
	g.Expect(d.Conn.(*net.TCPConn).CloseWrite()).To(Succeed())
	_, err := d.replies.ReadByte()
	g.Expect(err).To(Equal(io.EOF), "the client's end reaches the replica, and the replica's the client")
}
