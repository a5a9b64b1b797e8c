package hugo

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// get returns the status and the text of a page.
func get(h http.Handler, path string) (status int, text string) {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder.Code, strings.TrimSpace(recorder.Body.String())
}

func TestServed(t *testing.T) {
	for _, base := range []string{"/", "/below/", "https://example.com/below/"} {
		d := newDraft(t)
		d.Base = base
		build := d.build
		d.build = func(ctx context.Context, s Site, content, out string) error {
			return errors.Join(build(ctx, s, content, out), d.write(filepath.Join(out, "404.html"), "not here"))
		}
		h := newHandler(t.Context(), d.Site)
		for _, test := range []struct {
			path   string
			status int
			text   string
		}{
			{d.path(), 200, base + " the page"},
			{d.path() + "404.html", 200, "not here"},
			{d.path() + "none/", 404, "not here"},
			{d.path() + "none.js", 404, "not here"},
			{d.path() + "../../hugo_test.go", 307, ""}, // the path without dots
		} {
			if status, text := get(h, test.path); status != test.status || test.text != "" && text != test.text {
				t.Errorf("%s below %s: %d %q, expected %d %q", test.path, base, status, text, test.status, test.text)
			}
		}
		if status, _ := get(h, "/"); base != "/" && status != http.StatusFound {
			t.Errorf("/ below %s: %d, expected a way to the site", base, status)
		}

		d.page = "another"
		if _, text := get(h, d.path()); text != base+" another" {
			t.Errorf("a page that was changed is %q", text)
		}
		d.page, d.fails = "one more", errors.New("a template is wrong")
		if status, text := get(h, d.path()); status != 500 || text != "a template is wrong" {
			t.Errorf("a site that can't be made: %d %q", status, text)
		}
	}
}

func TestServeEnds(t *testing.T) {
	d := newDraft(t)
	d.Base = "/below/"
	ctx, stop := context.WithCancel(t.Context())
	err := d.Serve(ctx, func(address string) {
		defer stop()
		if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.HasSuffix(address, "/below/") {
			t.Errorf("the address is %s", address)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
