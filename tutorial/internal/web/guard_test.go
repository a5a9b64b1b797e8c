package web_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/example/operator-testbed/tutorial/internal/web"
)

const host = "127.0.0.1:7007"

// shell is a guarded page, at / and with server-sent events at /live, and an open handler.
type shell struct {
	guard   *web.Guard
	handler http.Handler
	cookie  *http.Cookie
}

func newShell(t *testing.T) *shell {
	t.Helper()
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	s := &shell{guard: web.NewGuard("board-7007", []string{host, "localhost:7007"})}
	s.handler = s.guard.Handler(answer("the page"), map[string]http.Handler{"POST /events": answer("thanks")})
	s.cookie = cookieOf(t, s.ask("GET", s.guard.Invite()))
	return s
}

func cookieOf(t *testing.T, response *http.Response) *http.Cookie {
	t.Helper()
	if cookies := response.Cookies(); response.StatusCode == http.StatusOK && len(cookies) == 1 {
		return cookies[0]
	}
	t.Fatalf("the invitation brings %s and the cookies %v", response.Status, response.Cookies())
	return nil
}

// ask sends a request, with header fields as "Name: value"; the host is one of them.
func (s *shell) ask(method, path string, fields ...string) *http.Response {
	request := httptest.NewRequest(method, path, nil)
	request.Host = host
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

func TestRequestsAreRefused(t *testing.T) {
	s := newShell(t)
	cookie := "Cookie: " + s.cookie.Name + "=" + s.cookie.Value
	for _, test := range []struct {
		name   string
		method string
		path   string
		fields []string
		want   int
	}{
		{"the page", "GET", "/", []string{cookie}, 200},
		{"the page by another of its names", "GET", "/", []string{cookie, "Host: LOCALHOST:7007"}, 200},
		{"a link in another page", "GET", "/", []string{cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 200},
		{"the page's own script", "GET", "/live", []string{cookie, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"}, 200},
		{"a form of the page", "POST", "/invite", []string{cookie, "Sec-Fetch-Site: same-origin", "Origin: http://" + host}, 200},
		{"what is open", "POST", "/events", nil, 200},

		{"a foreign host", "GET", "/", []string{cookie, "Host: evil.example:7007"}, 421},
		{"a foreign host, where it is open", "POST", "/events", []string{"Host: evil.example:7007"}, 421},
		{"the host with another port", "GET", "/", []string{cookie, "Host: 127.0.0.1:80"}, 421},
		{"the host without its port", "GET", "/", []string{cookie, "Host: 127.0.0.1"}, 421},
		{"a host that starts alike", "GET", "/", []string{cookie, "Host: 127.0.0.1:7007.evil.example"}, 421},
		{"no cookie", "GET", "/", nil, 401},
		{"a bare stream", "GET", "/live", []string{"Accept: text/event-stream"}, 401},
		{"a wrong cookie", "GET", "/", []string{"Cookie: " + s.cookie.Name + "=" + strings.Repeat("A", len(s.cookie.Value))}, 401},
		{"the cookie of another port", "GET", "/", []string{"Cookie: board-7008=" + s.cookie.Value}, 401},
		{"no cookie, for a change", "POST", "/invite", nil, 401},
		{"a change by GET", "GET", "/invite", nil, 401},
		{"a form of another site", "POST", "/invite", []string{cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 403},
		{"a form of another port", "POST", "/invite", []string{cookie, "Sec-Fetch-Site: same-site"}, 403},
		{"a form of another site, in an old browser", "POST", "/invite", []string{cookie, "Origin: https://evil.example"}, 403},
		{"a form of another port, in an old browser", "POST", "/invite", []string{cookie, "Origin: http://127.0.0.1:9999"}, 403},
		{"a script of another site, where it is open", "POST", "/events", []string{"Origin: https://evil.example"}, 403},
		{"a frame of another port", "GET", "/", []string{cookie, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		{"a stream of another port", "GET", "/live", []string{cookie, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"}, 403},
		{"a guessed invitation", "GET", "/open/" + strings.Repeat("A", 26), nil, 401},
	} {
		if got := s.ask(test.method, test.path, test.fields...); got.StatusCode != test.want {
			t.Errorf("%s: got %s, expected %d", test.name, got.Status, test.want)
		}
	}
}

func TestAnInvitationWorksOnce(t *testing.T) {
	s := newShell(t)
	path := s.guard.Invite()
	if len(strings.TrimPrefix(path, "/open/")) < 26 { // characters of five bits
		t.Errorf("%s has less than 128 bits", path)
	}
	if got := s.ask("HEAD", path); got.StatusCode != 400 {
		t.Errorf("a program that looks what is there gets %s", got.Status)
	}
	if got := s.ask("GET", path, "Sec-Purpose: prefetch"); got.StatusCode != 400 {
		t.Errorf("a browser that looks ahead gets %s", got.Status)
	}
	cookie := cookieOf(t, s.ask("GET", path))
	if got := s.ask("GET", path); got.StatusCode != 401 || len(got.Cookies()) > 0 {
		t.Errorf("the second browser gets %s", got.Status)
	}
	if got := s.ask("GET", path, "Cookie: "+cookie.Name+"="+cookie.Value); got.StatusCode != 200 {
		t.Errorf("the first browser gets %s at the second time", got.Status)
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Name != "board-7007" || cookie.Domain != "" || cookie.Path != "/" || len(cookie.Value) < 26 {
		t.Errorf("the cookie is %s", cookie)
	}
	if strings.Contains(path, cookie.Value) {
		t.Error("whoever sees the address has the cookie")
	}
}

// A browser that has the page can let in another one.
func TestInvite(t *testing.T) {
	s := newShell(t)
	response := s.ask("POST", "/invite", "Cookie: "+s.cookie.Name+"="+s.cookie.Value)
	body := make([]byte, 4096)
	n, _ := response.Body.Read(body)
	path := regexp.MustCompile(`http://127\.0\.0\.1:7007(/open/[A-Z2-7]+)`).FindSubmatch(body[:n])
	if path == nil {
		t.Fatalf("no address in %s", body[:n])
	}
	cookieOf(t, s.ask("GET", string(path[1])))
}

// Every answer, a refusal included, forbids the browser what a page does not need.
func TestHeaders(t *testing.T) {
	s := newShell(t)
	for _, response := range []*http.Response{
		s.ask("GET", "/", "Cookie: "+s.cookie.Name+"="+s.cookie.Value), s.ask("GET", "/"), s.ask("GET", "/", "Host: evil.example"), s.ask("POST", "/events"),
	} {
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; ", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "",
		} {
			if got := response.Header.Get(name); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s has %s: %q, expected %q", response.Status, name, got, want)
			}
		}
		if csp := response.Header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("the policy is %q", csp)
		}
	}
}
