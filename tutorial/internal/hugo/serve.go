package hugo

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// Serve serves the site on a free port of this machine until ctx is done, and passes the address to ready. A page that is loaded again
// shows what was changed in the meantime.
func (s Site) Serve(ctx context.Context, ready func(address string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHandler(ctx, s), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ready("http://" + listener.Addr().String() + s.path())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// path returns the path below which the site is served.
func (s Site) path() string {
	if address, err := url.Parse(s.Base); err == nil {
		return address.Path
	}
	return "/"
}

// handler serves a site.
type handler struct {
	site  Site
	ctx   context.Context // ends what requests wait for together
	files http.Handler

	mu sync.Mutex // held while the site is made
}

func newHandler(ctx context.Context, s Site) http.Handler {
	h := &handler{site: s, ctx: ctx, files: http.FileServer(http.Dir(s.Out))}
	below := strings.TrimSuffix(s.path(), "/")
	mux := http.NewServeMux()
	mux.Handle("GET "+below+"/", http.StripPrefix(below, h))
	if below != "" {
		mux.Handle("GET /{$}", http.RedirectHandler(s.path(), http.StatusFound))
	}
	return mux
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if strings.HasSuffix(r.URL.Path, "/") {
		if err := h.refresh(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if _, err := fs.Stat(os.DirFS(h.site.Out), strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")); err != nil && r.URL.Path != "/" {
		h.notFound(w)
		return
	}
	h.files.ServeHTTP(w, r)
}

// refresh makes the site if something has changed.
func (h *handler) refresh() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.site.Make(h.ctx)
	return err
}

// notFound shows the page that a server of static pages shows.
func (h *handler) notFound(w http.ResponseWriter) {
	page, err := os.ReadFile(path.Join(h.site.Out, "404.html"))
	if err != nil {
		page = []byte("there is no such page")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(page) // fails if the browser is gone
}
