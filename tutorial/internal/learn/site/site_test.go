package site_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/learn/site"
)

const chapterPage = "<html><head><title>A controller</title></head><body>text</body></html>"

func files() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"index.html":                        file("<html><head></head><body>first</body></html>"),
		"404.html":                          file("<html><head></head><body>nothing here</body></html>"),
		"tutorial/03-controller/index.html": file(chapterPage),
		"js/a.js":                           file("a()"),
		"empty/a.png":                       file("png"),
	}
}

func get(t *testing.T, handler http.Handler, method, path string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w, w.Body.String()
}

func TestSite(t *testing.T) {
	g := NewWithT(t)
	handler, err := site.Handler(files())
	g.Expect(err).NotTo(HaveOccurred())
	for _, test := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/", 200, ">first<"},
		{"GET", "/tutorial/03-controller/", 200, "A controller"},
		{"GET", "/tutorial/03-controller/index.html", 200, "A controller"},
		{"GET", "/js/a.js", 200, "a()"},
		{"GET", "/tutorial/03-controller", 301, ""},
		{"GET", "/nowhere/", 404, "nothing here"},
		{"GET", "/-/nowhere", 404, "nothing here"},
		{"GET", "/-/../index.html", 404, "nothing here"},
		{"GET", "/../../../etc/passwd", 404, "nothing here"},
		{"GET", "/empty/", 404, "nothing here"},
		{"POST", "/", 405, "pages can only be read"},
	} {
		response, body := get(t, handler, test.method, test.path)
		g.Expect(response.Code).To(Equal(test.status), test.path)
		g.Expect(body).To(ContainSubstring(test.body), test.path)
	}
	response, _ := get(t, handler, "GET", "/tutorial/03-controller")
	g.Expect(response.Header().Get("Location")).To(Equal("/tutorial/03-controller/"))
}

// A name that begins with two slashes is another server's.
func TestSiteDoesNotSendElsewhere(t *testing.T) {
	g := NewWithT(t)
	all := files()
	all["evil.example/index.html"] = all["index.html"]
	handler, err := site.Handler(all)
	g.Expect(err).NotTo(HaveOccurred())
	response, _ := get(t, handler, "GET", "http://127.0.0.1//evil.example")
	g.Expect(response.Header().Get("Location")).NotTo(HavePrefix("//"))
}

// A page gets the panel, and its policy allows no script that is written into it.
func TestPanelAndPolicy(t *testing.T) {
	g := NewWithT(t)
	handler, err := site.Handler(files())
	g.Expect(err).NotTo(HaveOccurred())
	response, body := get(t, handler, "GET", "/tutorial/03-controller/")
	g.Expect(body).To(ContainSubstring(`<link rel="stylesheet" href="/-/panel.css"><script src="/-/panel.js" defer></script></head>`))
	csp := response.Header().Get("Content-Security-Policy")
	g.Expect(csp).To(HavePrefix("default-src 'none'; script-src 'self'; "))
	g.Expect(csp).To(And(ContainSubstring("frame-ancestors 'none'"), ContainSubstring("base-uri 'none'"), Not(ContainSubstring("*")), Not(ContainSubstring("unsafe-eval"))))
}

func TestNotBuilt(t *testing.T) {
	_, err := site.Handler(fstest.MapFS{})
	NewWithT(t).Expect(err).To(MatchError(site.ErrNotBuilt))
}
