package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/example/operator-testbed/tutorial/browser"
	"github.com/example/operator-testbed/tutorial/internal/learn/panel"
	"github.com/example/operator-testbed/tutorial/internal/web"
)

// panelLinks are what the server puts into the head of each page.
const panelLinks = `<link rel="stylesheet" href="/-/panel.css"><script src="/-/panel.js" defer></script>`

// chapterPage is a chapter as the site has it, without its theme: a text, and the element that the panel fills. Like the pages of the site,
// it comes with styles of its own for all lists and buttons.
const chapterPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>The status</title>
<link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/style.css">` + panelLinks + `</head>
<body><main><h1>04 The status</h1><p>A Memcached says how it is: whether it is available, whether something is still to be done, and what went
wrong.</p>%s</main></body></html>`

// learnServer serves a chapter with the panel, behind the guard and under the policy of all our pages. It shows the states that a test gives
// it, and remembers what the panel asks for.
type learnServer struct {
	url, host, invitation string
	port                  int
	stop                  func()

	mu      sync.Mutex
	live    *web.Live
	state   []byte
	down    bool   // whether it refuses streams
	refusal string // the answer to each request for an action
	asked   int    // how many streams were asked for
	crowded bool   // whether there were several at once
	posts   chan string
	alone   chan struct{} // has a value while there is a stream
}

// serveLearn starts a server. Port 0 is a free one.
func serveLearn(t *testing.T, port int) *learnServer {
	t.Helper()
	s := &learnServer{live: web.NewLive(), posts: make(chan string, 10), alone: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	web.Files(mux)
	site := os.Getenv("SITE")
	if site != "" {
		mux.Handle("GET /", http.FileServer(http.Dir(site)))
	}
	mux.HandleFunc("GET /tutorial/{chapter}/", func(w http.ResponseWriter, r *http.Request) {
		aside := fmt.Sprintf(`<aside id="learn" data-chapter="%s" hidden></aside>`, r.PathValue("chapter"))
		if r.PathValue("chapter") == "without" {
			aside = ""
		}
		if built, err := os.ReadFile(filepath.Join(site, "tutorial", r.PathValue("chapter"), "index.html")); site != "" && err == nil {
			w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'") // as diagrams need it
			fmt.Fprint(w, strings.Replace(string(built), "</head>", panelLinks+"</head>", 1))
			return
		}
		fmt.Fprintf(w, chapterPage, aside)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, chapterPage, `<p id="home">Home</p>`) })
	mux.HandleFunc("GET /-/stream", s.stream)
	mux.HandleFunc("POST /-/do/{action}", s.do)
	for _, name := range []string{"panel.js", "panel.css"} {
		mux.HandleFunc("GET /-/"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, panel.Files, name) })
	}
	server, err := listen(t.Context(), port, web.Options{Name: "learn", Pages: mux, Closing: func() { s.drop(true) }})
	if err != nil {
		t.Fatal(err)
	}
	s.url, s.invitation = server.URLs()[0], server.Invitation()
	s.host = strings.TrimPrefix(s.url, "http://")
	address, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(address.Port(), &s.port); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// listen opens a port. A free one is not among those that systems give to whoever asks for any, so it stays free for a server that is
// restarted, and lies above those that browsers refuse, the highest of which is 10080 (Chromium's net/base/port_util.cc).
func listen(ctx context.Context, port int, o web.Options) (server *web.Server, err error) {
	for range 100 {
		if o.Port = port; port == 0 {
			o.Port = 11_000 + rand.N(19_000)
		}
		if server, err = web.Listen(ctx, o); err == nil || port != 0 {
			break
		}
	}
	return server, err
}

func (s *learnServer) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	live, down := s.live, s.down
	s.asked++
	s.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	select {
	case s.alone <- struct{}{}: // A server may hear of a new stream before it hears that the one before has ended.
		defer func() { <-s.alone }()
	case <-r.Context().Done():
		return
	case <-time.After(browser.Patience / 2):
		s.mu.Lock()
		s.crowded = true
		s.mu.Unlock()
	}
	live.ServeHTTP(w, r)
}

func (s *learnServer) do(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.posts <- strings.TrimSpace(r.PathValue("action") + " " + r.PostForm.Encode())
	s.mu.Lock()
	refusal := s.refusal
	s.mu.Unlock()
	if refusal != "" {
		http.Error(w, refusal, http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// show sends a state to the panel.
func (s *learnServer) show(t *testing.T, state map[string]any) {
	t.Helper()
	value, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = value
	s.live.Set(value)
}

// drop ends the streams, and refuses others if it is down from now on.
func (s *learnServer) drop(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live.Close()
	s.live, s.down = web.NewLive(), down
	if s.state != nil {
		s.live.Set(s.state)
	}
}

func (s *learnServer) refuse(refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = refusal
}

// streams returns how many streams were asked for, and whether there were several at once.
func (s *learnServer) streams() (asked int, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.crowded
}

// post returns the next action that the panel asks for, with its fields.
func (s *learnServer) post(t *testing.T) string {
	t.Helper()
	select {
	case post := <-s.posts:
		return post
	case <-time.After(browser.Patience):
		t.Fatal("the panel asks for nothing")
		return ""
	}
}

var shownTime = regexp.MustCompile(`2026-01-02T15:\d\d:\d\dZ`)

// stateOf returns a state of ../internal/learn/panel/testdata, as if it had been taken now.
func stateOf(t *testing.T, name string) map[string]any {
	t.Helper()
	content, err := os.ReadFile("../internal/learn/panel/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	taken := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	content = shownTime.ReplaceAllFunc(content, func(shown []byte) []byte {
		at, err := time.Parse(time.RFC3339, string(shown))
		if err != nil {
			t.Fatal(err)
		}
		return time.Now().Add(at.Sub(taken)).UTC().AppendFormat(nil, time.RFC3339)
	})
	var state map[string]any
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

// object returns the object of a state below the first ones: each step takes one of the children.
func object(state map[string]any, steps ...int) map[string]any {
	at := state["objects"].([]any)[0].(map[string]any)
	for _, step := range steps {
		at = at["children"].([]any)[step].(map[string]any)
	}
	return at
}
