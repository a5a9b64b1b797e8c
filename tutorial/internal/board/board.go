// Package board is the live board of a class: who is where, and who is stuck on what, from the events that `make check`, `make hint` and
// `make reset` report. Each student's token may only report, and only about that student. Events name nobody: the names come from the
// teacher's roster. They never grade.
package board

import (
	"bytes"
	"context"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/example/operator-testbed/tutorial/internal/board/report"
	"github.com/example/operator-testbed/tutorial/internal/web"
)

//go:embed board.html
var boardHTML string

var page = template.Must(template.New("board").Parse(boardHTML))

// Student is an entry of the roster. Token is what the student's copies show when they report; nobody can report without one.
type Student struct{ ID, Name, Token string }

// Options say whose board it is.
type Options struct {
	// Title is the name of the class.
	Title    string
	Students []Student
	// File keeps the events. The board goes on with what it has.
	File string
	// Now is the clock.
	Now func() time.Time
}

// Board shows a class.
type Board struct {
	o    Options
	live *web.Live

	mu    sync.Mutex
	store *store
}

// Open opens a board.
func Open(o Options) (*Board, error) {
	s, err := openStore(o.File)
	if err != nil {
		return nil, fmt.Errorf("open the events of the board: %w", err)
	}
	b := &Board{o: o, live: web.NewLive(), store: s}
	err = b.Refresh()
	return b, err
}

// Close ends the streams, and closes the file.
func (b *Board) Close() error {
	b.live.Close()
	return b.store.file.Close()
}

// EndStreams lets a server stop that waits for its answers.
func (b *Board) EndStreams() { b.live.Close() }

// Refresh computes the page again: some of it changes as time goes by.
func (b *Board) Refresh() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refresh()
}

func (b *Board) refresh() error {
	var out bytes.Buffer
	if err := page.ExecuteTemplate(&out, "live", b.look()); err != nil {
		return err
	}
	b.live.Set(out.Bytes())
	return nil
}

func (b *Board) look() view { return look(b.o.Title, b.o.Students, b.store.entries, b.o.Now()) }

// Run refreshes the board until ctx is done.
func (b *Board) Run(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := b.Refresh(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Pages returns the handler of what the teacher reads.
func (b *Board) Pages() http.Handler {
	mux := http.NewServeMux()
	web.Files(mux)
	mux.Handle("GET /live", b.live)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		v := b.look()
		b.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Execute(w, v) // fails if the browser is gone
	})
	return mux
}

// Reports returns the handler of what students send, by its pattern.
func (b *Board) Reports() map[string]http.Handler {
	return map[string]http.Handler{"POST " + report.Path: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := b.receive(w, r)
		if refused, ok := errors.AsType[*refusal](err); ok {
			http.Error(w, refused.message, refused.status)
			return
		}
		if err != nil {
			http.Error(w, "the board could not keep the report: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})}
}

func (b *Board) receive(w http.ResponseWriter, r *http.Request) error {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	student, ok := b.studentOf(token)
	if !ok {
		return &refusal{http.StatusUnauthorized, "no student of this class has this token: use the copy that was handed out to you"}
	}
	var sent report.Report
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBytes)).Decode(&sent); err != nil {
		return &refusal{http.StatusBadRequest, "the report can't be read: update the testbed"}
	}
	if err := check(sent, student); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.store.add(sent, b.o.Now()); err != nil {
		return err
	}
	return b.refresh()
}

// studentOf returns whose token it is.
func (b *Board) studentOf(token string) (string, bool) {
	for _, student := range b.o.Students {
		if student.Token != "" && subtle.ConstantTimeCompare([]byte(student.Token), []byte(token)) == 1 {
			return student.ID, true
		}
	}
	return "", false
}
