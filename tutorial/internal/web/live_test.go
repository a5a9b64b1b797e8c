package web_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/web"
)

// stream opens a stream, and returns a function that reads its next event with data.
func stream(t *testing.T, url string) (next func() string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the stream has the type %q", got)
	}
	reader := bufio.NewReader(response.Body)
	next = func() string {
		var data []string
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return "end"
			}
			switch line = strings.TrimSuffix(line, "\n"); {
			case strings.HasPrefix(line, "data: "):
				data = append(data, line[len("data: "):])
			case line == "" && data != nil:
				return strings.Join(data, "\n")
			}
		}
	}
	return next, func() { cancel(); response.Body.Close() }
}

func TestLive(t *testing.T) {
	live := web.NewLive()
	server := httptest.NewServer(live)
	defer server.Close()

	live.Set([]byte("first"))
	one, endOne := stream(t, server.URL)
	defer endOne()
	if got := one(); got != "first" {
		t.Errorf("got %q, expected what was there before", got)
	}
	two, endTwo := stream(t, server.URL)
	defer endTwo()
	if got := two(); got != "first" {
		t.Errorf("the second stream got %q", got)
	}
	live.Set([]byte("first")) // is no change
	live.Set([]byte("a\r\nevent: other\n\ndata: b"))
	for name, next := range map[string]func() string{"one": one, "two": two} {
		if got := next(); got != "a\nevent: other\n\ndata: b" {
			t.Errorf("%s got %q, expected a single event", name, got)
		}
	}
	live.Close()
	live.Close()
	for name, next := range map[string]func() string{"one": one, "two": two} {
		if got := next(); got != "end" {
			t.Errorf("%s got %q after the end", name, got)
		}
	}
}

// A browser that reads slowly gets the latest value, not all of them, and does not hold up anybody.
func TestLiveSkipsWhatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := web.NewLive()
		w := &slowWriter{ResponseRecorder: httptest.NewRecorder(), entered: make(chan struct{}), leave: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			live.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live", nil))
		}()
		<-w.entered
		live.Set([]byte("old"))
		live.Set([]byte("new"))
		close(w.leave)
		synctest.Wait()
		live.Set([]byte("newest"))
		synctest.Wait() // Time stands still until here.
		if got := w.Body.String(); got != "retry: 1000\n\ndata: new\n\ndata: newest\n\n" {
			t.Errorf("got %q, expected the latest values, and none that was old", got)
		}
		<-time.After(40 * time.Second) // on the clock of this test
		synctest.Wait()
		live.Close()
		<-done
		if got := w.Body.String(); got != "retry: 1000\n\ndata: new\n\ndata: newest\n\n:\n\n:\n\n" {
			t.Errorf("got %q, expected two signs of life in 40 seconds", got)
		}
	})
}

// slowWriter waits in its first write.
type slowWriter struct {
	*httptest.ResponseRecorder
	entered, leave chan struct{}
	waited         bool
}

func (w *slowWriter) Write(text []byte) (int, error) {
	if !w.waited {
		w.waited = true
		close(w.entered)
		<-w.leave
	}
	return w.ResponseRecorder.Write(text)
}

func TestTooManyStreams(t *testing.T) {
	live := web.NewLive()
	server := httptest.NewServer(live)
	defer server.Close()
	live.Set([]byte("x"))
	ends := make([]func(), 64)
	for i := range ends {
		var next func() string
		if next, ends[i] = stream(t, server.URL); next() != "x" {
			t.Fatalf("stream %d has nothing", i)
		}
	}
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one stream too many gets %s", response.Status)
	}
	for _, end := range ends {
		end()
	}
	live.Close()
}

// pipes is a network in memory: on a real one, the clock of a test would stand still.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func newPipes() pipes {
	p := pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	p.close()
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.connections <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// A server whose context is done ends the streams, and answers nobody afterwards. Its invitation opens the pages. A browser that has a
// connection to spare is not waited for.
func TestServe(t *testing.T) {
	for name, spare := range map[string]bool{"a browser": false, "a browser with a connection to spare": true} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { serve(t, spare) }) })
	}
}

func serve(t *testing.T, spare bool) {
	live := web.NewLive()
	live.Set([]byte("hello"))
	pages := http.NewServeMux()
	web.Files(pages)
	pages.Handle("GET /live", live)
	server, err := web.Listen(t.Context(), web.Options{Name: "test", Home: "/first/", Pages: pages, Closing: live.Close})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range server.URLs() {
		if !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "http://localhost:") {
			t.Errorf("without LAN, the server has the address %s", url)
		}
	}
	network := newPipes()
	if err := server.Over(network); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: network.dial}
	defer transport.CloseIdleConnections()
	browser := http.Client{Transport: transport}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()

	opened, err := browser.Get(server.Invitation())
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(opened.Body)
	opened.Body.Close()
	if err != nil || !strings.Contains(string(page), `content="0;url=/first/"`) {
		t.Errorf("an invitation leads to %s, %v", page, err)
	}
	cookie := cookieOf(t, opened)
	get := func(path string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URLs()[0]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.AddCookie(cookie)
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	for _, file := range []string{"/style.css", "/icon.svg", "/live.js", "/stream.js"} {
		response := get(file)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", file, response.Status)
		}
	}
	events := get("/live")
	defer events.Body.Close()
	if spare {
		connection, err := network.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		synctest.Wait()
	}
	stop()
	rest, err := io.ReadAll(events.Body)
	if err != nil || !strings.Contains(string(rest), "data: hello\n\n") {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if response, err := browser.Get(server.URLs()[0]); err == nil {
		response.Body.Close()
		t.Error("the server still answers")
	}
}

func TestPortIsTaken(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(taken.URL, "http://"), ":")
	var number int
	for _, digit := range port {
		number = number*10 + int(digit-'0')
	}
	if _, err := web.Listen(t.Context(), web.Options{Port: number}); err == nil || !strings.Contains(err.Error(), "choose another port, such as PORT=") {
		t.Errorf("got %v", err)
	}
}

// On the local network, the machine has its own names and addresses, and those that it is given.
func TestLAN(t *testing.T) {
	server, err := web.Listen(t.Context(), web.Options{LAN: true, Hosts: []string{"Teacher.example"}, Pages: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	defer func() {
		if err := server.Serve(ctx); err != nil {
			t.Error(err)
		}
	}()
	if all := strings.Join(server.URLs(), " "); !strings.Contains(all, "http://teacher.example:") || !strings.HasPrefix(server.Invitation(), "http://127.0.0.1:") {
		t.Errorf("the addresses are %s", all)
	}
}
