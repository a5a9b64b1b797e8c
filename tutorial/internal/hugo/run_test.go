package hugo

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier"
)

// newSite returns a site of one page that Hugo makes, with the theme, but with templates of its own.
func newSite(t *testing.T, base, page, template string) Site {
	t.Helper()
	d := &draft{}
	source := t.TempDir()
	for name, text := range map[string]string{
		"hugo.yaml":                    "title: A site\ndisableKinds: [rss, sitemap, taxonomy, term]\n",
		"layouts/_default/single.html": template,
		"layouts/index.html":           "home",
		"layouts/404.html":             "not here",
	} {
		if err := d.write(filepath.Join(source, name), text); err != nil {
			t.Fatal(err)
		}
	}
	return Site{
		Root: "../../..", Base: base, Out: filepath.Join(t.TempDir(), "site"), Progress: os.Stderr, source: source,
		Pages: func(_ context.Context, directory string) error {
			return d.write(filepath.Join(directory, "content", "page", "index.md"), "---\ntitle: A page\n---\n"+page)
		},
	}
}

func TestHugo(t *testing.T) {
	tier.All(t)
	t.Setenv("HUGO_BASEURL", "https://evil.example/") // somebody uses Hugo for other sites, too
	for _, base := range []string{"/", "/below/"} {
		const template = `{{ .RelPermalink }} {{ (resources.Get "lib/mermaid/mermaid.min.js" | fingerprint).RelPermalink }} {{ .Content }}`
		s := newSite(t, base, "## A heading", template)
		if from, err := s.Make(t.Context()); err != nil || from != Made {
			t.Fatalf("the site is %q, %v", from, err)
		}
		page, err := os.ReadFile(filepath.Join(s.Out, "page", "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{base + "page/ ", " " + base + "lib/mermaid/mermaid.min.", `id="a-heading"`} {
			if !strings.Contains(string(page), want) {
				t.Errorf("below %s the page has no %s: %.200s", base, want, page)
			}
		}
		if left, err := filepath.Glob(filepath.Join(s.source, "*")); err != nil || len(left) != 2 {
			t.Errorf("Hugo has left something beside its settings and templates: %q, %v", left, err)
		}
	}
}

// A page that Hugo warns of is not published, nor one that it can't read.
func TestHugoComplains(t *testing.T) {
	tier.All(t)
	for page, want := range map[string]string{
		"{{< no-such-shortcode >}}": "no-such-shortcode",
		"a page":                    "WARN  the template is old",
	} {
		_, err := newSite(t, "/", page, `{{ warnf "the template is old" }}`).Make(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: Make returns %v", page, err)
		}
	}
}

func TestComplaints(t *testing.T) {
	const said = "Start building sites … \nhugo v0.147.9\n\nWARN  a key is deprecated\n Pages  │ 4\nERROR a page is wrong\nTotal in 2 ms\n"
	if got, want := complaints([]byte(said)), "WARN  a key is deprecated\nERROR a page is wrong"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
}
