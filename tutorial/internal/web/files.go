package web

import (
	"embed"
	"net/http"
)

//go:embed style.css icon.svg live.js stream.js
var files embed.FS

// Files adds the files that all pages need: /style.css, /icon.svg, and /live.js with its worker, which replaces the
// elements of a page that have an id and the attribute data-live by those that come from /live.
func Files(mux *http.ServeMux) {
	for _, name := range []string{"style.css", "icon.svg", "live.js", "stream.js"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, name) })
	}
}
