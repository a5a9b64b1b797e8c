package hugo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// draft is a site of one page in a repository of its own, whose Hugo only copies the page.
type draft struct {
	Site
	page  string // its text
	built int    // how often Hugo ran
	fails error
}

func newDraft(t *testing.T) *draft {
	t.Helper()
	d := &draft{page: "the page"}
	root := t.TempDir()
	d.Site = Site{
		Root: root, Base: "/", Out: filepath.Join(root, "bin", "site"), Unpacked: filepath.Join(root, "cache"),
		Pages: func(_ context.Context, directory string) error {
			return d.write(filepath.Join(directory, "content", "_index.md"), d.page)
		},
		build: func(_ context.Context, s Site, content, out string) error {
			d.built++
			page, err := os.ReadFile(filepath.Join(content, "_index.md"))
			return errors.Join(err, d.write(filepath.Join(out, "index.html"), s.Base+" "+string(page)), d.fails)
		},
	}
	return d
}

func (d *draft) write(path, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
}

// verify makes the site, and compares where it comes from, and its page, with what is expected.
func (d *draft) verify(t *testing.T, why string, from Origin, page string) {
	t.Helper()
	got, err := d.Make(t.Context())
	if err != nil || got != from {
		t.Errorf("%s: the site is %q, %v; expected %q", why, got, err, from)
	}
	if text, err := os.ReadFile(filepath.Join(d.Out, "index.html")); err != nil || string(text) != page {
		t.Errorf("%s: the page is %q, %v; expected %q", why, text, err, page)
	}
}

// source writes a file of docs/site.
func (d *draft) source(t *testing.T, name, text string) {
	t.Helper()
	if err := d.write(filepath.Join(d.Root, Source, name), text); err != nil {
		t.Fatal(err)
	}
}

func TestMadeOnlyWhenSomethingHasChanged(t *testing.T) {
	d := newDraft(t)
	d.verify(t, "the first time", Made, "/ the page")
	d.verify(t, "the second time", Unchanged, "/ the page")
	d.page = "another"
	d.verify(t, "with another page", Made, "/ another")
	for _, name := range []string{"go.mod", "go.sum", "hugo.yaml", "layouts/_default/single.html", "assets/css/custom.css", "static/images/logo.svg", "i18n/ko.yaml"} {
		d.source(t, name, "new")
		d.verify(t, "with "+name, Made, "/ another")
		d.source(t, name, "changed")
		d.verify(t, "with another "+name, Made, "/ another")
	}
	d.source(t, "README.md", "for people")
	d.source(t, "resources/_gen/leftover", "of a Hugo that somebody ran here")
	d.verify(t, "with files that decide nothing", Unchanged, "/ another")
	d.Base = "/below/"
	d.verify(t, "with another base", Made, "/below/ another")
	if err := os.Remove(filepath.Join(d.Root, Source, "static", "images", "logo.svg")); err != nil {
		t.Fatal(err)
	}
	d.verify(t, "with a file less", Made, "/below/ another")
	if err := os.RemoveAll(d.Out); err != nil {
		t.Fatal(err)
	}
	d.verify(t, "after make clean", Made, "/below/ another")
}

// A file's name and its content are not mixed up.
func TestKeysOfSimilarFilesDiffer(t *testing.T) {
	keys := map[string]string{}
	for _, file := range [][2]string{{"layouts/a", "b"}, {"layouts/ab", ""}, {"assets/a", "b"}} {
		d := newDraft(t)
		d.source(t, file[0], file[1])
		key, err := d.key(filepath.Join(d.Root, "no-pages"))
		if err != nil || keys[key] != "" {
			t.Errorf("the key of %q is %s, %v, as that of %s", file, key, err, keys[key])
		}
		keys[key] = file[0]
	}
}

func TestABundlesSiteIsTaken(t *testing.T) {
	packing := newDraft(t)
	packing.verify(t, "where it is packed", Made, "/ the page")
	key := keyOf(packing.Out)

	d := newDraft(t) // another clone: the same pages below another root
	unpacked := filepath.Join(d.Unpacked, key)
	if err := d.write(filepath.Join(unpacked, "index.html"), "from the bundle"); err != nil {
		t.Fatal(err)
	}
	if err := d.write(filepath.Join(d.Root, Source, "unrelated"), ""); err != nil {
		t.Fatal(err)
	}
	d.verify(t, "a bundle that was not unpacked to its end", Made, "/ the page")
	if err := errors.Join(writeKey(unpacked, key), os.RemoveAll(d.Out)); err != nil {
		t.Fatal(err)
	}
	d.verify(t, "a bundle", Copied, "from the bundle")
	d.verify(t, "the second time", Unchanged, "from the bundle")
	if d.built != 1 {
		t.Errorf("Hugo ran %d times, expected 1", d.built)
	}
	d.page = "another"
	d.verify(t, "another version of the pages", Made, "/ another")
}

func TestAFailureKeepsTheSite(t *testing.T) {
	d := newDraft(t)
	d.verify(t, "the first time", Made, "/ the page")
	d.page, d.fails = "another", errors.New("a template is wrong")
	if _, err := d.Make(t.Context()); !errors.Is(err, d.fails) {
		t.Errorf("Make returns %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(d.Out, "index.html")); err != nil || string(text) != "/ the page" {
		t.Errorf("the site has %q, %v", text, err)
	}
	d.Pages = func(context.Context, string) error { return errors.New("a page is wrong") }
	if _, err := d.Make(t.Context()); err == nil || err.Error() != "write the pages: a page is wrong" {
		t.Errorf("Make returns %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	d.Pages = func(ctx context.Context, _ string) error { stop(); return ctx.Err() }
	if _, err := d.Make(ctx); err == nil || err.Error() != "stopped: "+d.Out+" is as it was" {
		t.Errorf("after Ctrl-C, Make returns %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(d.Out))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the site there is %v, %v", entries, err)
	}
}

// Nobody fails because somebody else has made the site in the meantime.
func TestManyAtOnce(t *testing.T) {
	work := t.TempDir()
	out := filepath.Join(work, "site")
	var all sync.WaitGroup
	for maker := range 4 {
		all.Go(func() {
			for round := range 200 {
				name := fmt.Sprintf("%d-%d", maker, round)
				finished := filepath.Join(work, "finished-"+name)
				err := (&draft{}).write(filepath.Join(finished, "index.html"), name)
				if err := errors.Join(err, replace(out, finished, filepath.Join(work, "old-"+name))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(filepath.Join(out, "index.html")); err != nil {
		t.Error(err)
	}
}

func TestBase(t *testing.T) {
	for given, want := range map[string]string{
		"":                                 "/",
		"/":                                "/",
		"/operator-testbed":                "/operator-testbed/",
		"/operator-testbed/":               "/operator-testbed/",
		"https://example.com/testbed":      "https://example.com/testbed/",
		"operator-testbed":                 "BASE=operator-testbed is neither a path nor an address",
		"file:///tmp":                      "BASE=file:///tmp is neither a path nor an address",
		"//another.example/":               "BASE=//another.example/ is neither",
		"/two words":                       "BASE=/two words is neither",
		"https://example.com/?page=1#here": "BASE=https://example.com/?page=1#here is neither",
	} {
		got, err := Base(given)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("BASE=%s: got %s, expected %s", given, got, want)
		}
	}
}
