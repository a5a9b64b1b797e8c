package web

import (
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// policy lets pages load and run only what their own server has in files of their own. So what is written into a page can't run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// The paths that the guard answers.
const (
	openPath   = "/open/"
	invitePath = "/invite"
)

//go:embed invitation.html
var invitationHTML string

var invitationPage = template.Must(template.New("invitation").Parse(invitationHTML))

// Guard decides which requests are answered.
type Guard struct {
	cookie  string // its name
	hosts   []string
	session string // the value of the cookie
	home    string // the path of the first page

	mu          sync.Mutex
	invitations map[string]bool // those that were not used yet
}

// NewGuard returns a guard of what is served under exactly these hosts, with their ports. Cookies ignore ports, so the name of the
// cookie has to have it: otherwise another server on this machine would replace it.
func NewGuard(cookie string, hosts []string) *Guard {
	return &Guard{cookie: cookie, hosts: hosts, session: rand.Text(), home: "/", invitations: map[string]bool{}}
}

// Invite returns a path that opens the pages once, which nobody can guess: it has 128 bits.
func (g *Guard) Invite() string {
	token := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.invitations[token] = true
	return openPath + token
}

// Handler returns a handler that answers with pages whoever has the cookie, and with the open handlers everybody, of the requests that
// come from where they should.
func (g *Guard) Handler(pages http.Handler, open map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", g.private(pages))
	mux.Handle("POST "+invitePath, g.private(http.HandlerFunc(g.invite)))
	mux.HandleFunc("GET "+openPath+"{token}", g.open)
	for pattern, handler := range open {
		mux.Handle(pattern, handler)
	}
	answer := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(g.hosts, strings.ToLower(r.Host)):
			// A page from elsewhere can have its own name point to this address, and is then of the same origin.
			http.Error(w, "this server does not have the name that you use for it: use the address that was printed when it started",
				http.StatusMisdirectedRequest)
		case embedded(r):
			http.Error(w, "a page of another server asked for this: open it in a tab of its own", http.StatusForbidden)
		default:
			answer.ServeHTTP(w, r)
		}
	})
}

// embedded reports whether a page of another origin loads this, rather than a person. Pages of other ports count as the same site, so
// they have the cookie.
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// private answers whoever has the cookie.
func (g *Guard) private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.known(r) {
			http.Error(w, "this browser has not been invited, or the server was restarted: open the address that was printed when it started, "+
				"which works once", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) known(r *http.Request) bool {
	cookie, err := r.Cookie(g.cookie)
	return err == nil && same(cookie.Value, g.session)
}

// same compares in a time that does not show how much of it is right.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// open gives a browser its cookie. The page that it returns goes on to the first one: a redirect of a link in another page would
// count as that page's, and come without the cookie.
func (g *Guard) open(w http.ResponseWriter, r *http.Request) {
	// A browser that looks ahead, or a program that shows what is behind a link, does not use it up.
	if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" {
		http.Error(w, "open this address in a browser", http.StatusBadRequest)
		return
	}
	if !g.known(r) && !g.use(r.PathValue("token")) {
		http.Error(w, "this address was used before, or the server was restarted: restart it for a new one, or ask for one in the browser "+
			"that has the page", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	g.show(w, "")
}

// use reports whether there is such an invitation, and takes it away.
func (g *Guard) use(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for invitation := range g.invitations {
		if same(invitation, token) {
			delete(g.invitations, invitation)
			return true
		}
	}
	return false
}

// invite shows an address for another browser.
func (g *Guard) invite(w http.ResponseWriter, r *http.Request) {
	g.show(w, "http://"+r.Host+g.Invite())
}

func (g *Guard) show(w http.ResponseWriter, address string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = invitationPage.Execute(w, struct{ Address, Home string }{address, g.home}) // fails if the browser is gone
}
