package board_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/board"
	"github.com/example/operator-testbed/tutorial/internal/board/report"
)

// lineWriter hands over what was printed when the last line is there.
type lineWriter struct {
	text bytes.Buffer
	done chan string
}

func (w *lineWriter) Write(text []byte) (int, error) {
	n, err := w.text.Write(text)
	if strings.Contains(w.text.String(), "Ctrl-C") {
		w.done <- w.text.String()
	}
	return n, err
}

// The whole of it: a student's token reports and does not read, the teacher's address reads, and Ctrl-C ends everything.
func TestServe(t *testing.T) {
	for name, lan := range map[string]bool{"this machine": false, "the local network": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := &lineWriter{done: make(chan string, 1)}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				served <- board.Serve(ctx, board.ServeOptions{Title: "ops", Dir: dir, Students: students, LAN: lan, Out: out})
			}()
			var printed string
			select {
			case printed = <-out.done:
			case err := <-served:
				t.Fatal(err)
			}
			if strings.Contains(printed, "Nothing is encrypted") != lan || strings.Contains(printed, "Only this machine") == lan {
				t.Errorf("printed %s", printed)
			}
			found := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)(/open/[A-Z2-7]+)\n`).FindStringSubmatch(printed)
			if found == nil {
				t.Fatalf("no address in %s", printed)
			}
			url, invitation := found[1], found[2]

			send(t, report.Target{URL: url, Token: "token-of-s01"}, t.TempDir(), events("s01", 3))
			ask := func(path, field, value string) *http.Response {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set(field, value)
				if field == "Host" {
					request.Host = value
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { response.Body.Close() })
				return response
			}
			get := func(path, field, value string) (int, string, []*http.Cookie) {
				response := ask(path, field, value)
				text, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				return response.StatusCode, string(text), response.Cookies()
			}
			for _, path := range []string{"/", "/live", "/events"} {
				if code, text, _ := get(path, "Authorization", "Bearer token-of-s01"); code != http.StatusUnauthorized || strings.Contains(text, "Ada") {
					t.Errorf("a student reads %s: %d %s", path, code, text)
				}
			}
			code, _, cookies := get(invitation, "Accept", "text/html")
			if code != http.StatusOK || len(cookies) != 1 {
				t.Fatalf("the invitation brings %d and %v", code, cookies)
			}
			if code, text, _ := get("/", "Cookie", cookies[0].Name+"="+cookies[0].Value); code != http.StatusOK || !strings.Contains(text, "1 of 3 have reported, 1 stuck.") {
				t.Errorf("the teacher reads %d %s", code, text)
			}
			if lan {
				_, rest, _ := strings.Cut(printed, "It may say one of these:\n  http://")
				host, _, _ := strings.Cut(rest, "\n")
				if code, text, _ := get("/", "Host", host); host == "" || code != http.StatusUnauthorized {
					t.Errorf("by the name %s: %d %s", host, code, text)
				}
			}
			// A page that is open does not keep the board from stopping.
			ask("/live", "Cookie", cookies[0].Name+"="+cookies[0].Value)
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if found, err := filepath.Glob(filepath.Join(dir, "board", "*")); err != nil || len(found) != 1 {
				t.Errorf("left in the class: %v, %v", found, err)
			}
		})
	}
}

func TestServeWhereNothingCanBeKept(t *testing.T) {
	err := board.Serve(t.Context(), board.ServeOptions{Dir: "/dev/null", Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "open the events of the board: ") {
		t.Errorf("got %v", err)
	}
}
