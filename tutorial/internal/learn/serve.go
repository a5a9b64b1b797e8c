package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/example/operator-testbed/tutorial/internal/learn/site"
	"github.com/example/operator-testbed/tutorial/internal/web"
)

// Options say what to serve, and where.
type Options struct {
	Learner

	// Site is the directory of the built site.
	Site string
	// Panel has panel.js and panel.css.
	Panel fs.FS
	// Port is where the pages are served; 0 is a free port.
	Port int
	// Home is true to begin with the site's first page, and not with the learner's chapter.
	Home bool
	// Open is called with the address that lets a browser in, once.
	Open func(invitation string)
}

// mostForm is how long what a button sends may be.
const mostForm = 4 << 10

// Serve serves the pages until ctx ends. The operator, and whatever else runs because of a button, ends with it; the cluster stays.
func Serve(ctx context.Context, o Options) (err error) {
	pages, err := openSite(o.Site)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	m, err := newModel(ctx, o.Learner)
	if err != nil {
		return err
	}
	live := web.NewLive()
	home := "/tutorial/" + m.Chapter + "/"
	if o.Home {
		home = "/"
	}
	server, err := web.Listen(ctx, web.Options{
		Name: "learn", Port: o.Port, Home: home, Pages: m.handler(pages, o.Panel, live), Closing: live.Close,
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return server.Serve(ctx) })
	group.Go(func() error { return m.publish(ctx, live.Set) })
	group.Go(func() error { return m.follow(ctx) })
	group.Go(func() error { return m.followProgress(ctx) })
	o.Open(server.Invitation())
	err = group.Wait()
	m.wait()
	return err
}

// openSite returns the handler of the site in a directory. Nothing outside of it is served, whatever is linked in it.
func openSite(dir string) (http.Handler, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no directory %s: type make site", site.ErrNotBuilt, dir)
	}
	if err != nil {
		return nil, err
	}
	handler, err := site.Handler(root.FS())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: type make site", dir, err), root.Close())
	}
	return handler, nil
}

// handler returns what answers a browser that was let in.
func (m *model) handler(pages http.Handler, panel fs.FS, live http.Handler) http.Handler {
	mux := http.NewServeMux()
	web.Files(mux)
	mux.Handle("/", pages)
	mux.Handle("GET "+site.Panel+"stream", live)
	for _, name := range []string{"panel.js", "panel.css"} {
		mux.HandleFunc("GET "+site.Panel+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, panel, name) })
	}
	mux.HandleFunc("POST "+site.Panel+"do/{action}", m.answer)
	return mux
}

// answer begins what a button asks for.
func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	err := r.ParseForm()
	switch {
	case err != nil:
		err = wrong("the form can't be read: %v", err)
	case len(r.URL.Query()) > 0:
		err = wrong("the fields belong into the form, and not into the address")
	}
	var asked request
	if err == nil {
		asked, err = m.read(r.PathValue("action"), r.PostForm)
	}
	if err == nil {
		err = m.do(asked)
	}
	var refused *refusal
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &refused):
		http.Error(w, refused.sentence, refused.status)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// Printer returns a function for [Options.Open] that prints the address.
func Printer(out io.Writer) func(string) {
	return func(invitation string) {
		fmt.Fprintf(out, "Open this address in your browser, once:\n  %s\n", invitation)
		fmt.Fprintln(out, "Only this machine can reach it. Ctrl-C stops the page, and the operator that it runs; the cluster stays until make down.")
	}
}
