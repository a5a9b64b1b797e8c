// Package site serves the pages of the built site, each with the learner's panel in it and with the strictest policy that it works with.
package site

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Panel is the path below which the panel is. No page of the site is there.
const Panel = "/-/"

// ErrNotBuilt is the error of a site that is not there.
var ErrNotBuilt = errors.New("the site is not built")

const injected = `<link rel="stylesheet" href="` + Panel + `panel.css"><script src="` + Panel + `panel.js" defer></script>`

// policy allows a page what the server has in files. The site's layouts write no script into a page. Styles that are written into elements
// can't do harm here, and the theme and its diagrams have many, so those are allowed as they are. Fonts and pictures may be written into a
// style sheet.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler returns a handler of the site in a directory. The error is [ErrNotBuilt] if there is no page in it.
func Handler(files fs.FS) (http.Handler, error) {
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	return site{files, http.FileServerFS(files)}, nil
}

type site struct {
	files fs.FS
	rest  http.Handler // of what is not a page
}

// ServeHTTP answers with a page or another file of the site.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "pages can only be read", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" || strings.HasSuffix(r.URL.Path, "/") {
		name = path.Join(name, "index.html")
	}
	info, err := fs.Stat(s.files, name)
	switch {
	case err != nil || strings.HasPrefix(r.URL.Path, Panel):
		s.page(w, "404.html", http.StatusNotFound)
	case info.IsDir(): // goes on to its page, by a name that can't be another server's
		http.Redirect(w, r, "./"+path.Base(name)+"/", http.StatusMovedPermanently)
	case path.Ext(name) == ".html":
		s.page(w, name, http.StatusOK)
	default:
		s.rest.ServeHTTP(w, r)
	}
}

// page writes a page with the panel in it.
func (s site) page(w http.ResponseWriter, name string, status int) {
	text, err := fs.ReadFile(s.files, name)
	if err != nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	text = bytes.Replace(text, []byte("</head>"), []byte(injected+"</head>"), 1)
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // fails if the browser is gone
}
