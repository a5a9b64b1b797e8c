package site

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/markdown"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// repository is the root of the repository, relative to this directory.
const repository = "../../.."

// generateOnce generates the site's content for this repository.
var generateOnce = sync.OnceValues(func() (map[string][]byte, error) { return Generate(repository) })

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	content, err := generateOnce()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// shown is a file of the content as Hugo reads it: with the anchors that headings name.
type shown struct {
	url      string
	matter   matter
	source   []byte
	document ast.Node
	anchors  map[string]bool
	links    []string
	comments bool // in its HTML
}

// urlOf is the URL of a file of Hugo's content directory, relative to the site's root, by Hugo's rules.
func urlOf(file string) string {
	name := strings.TrimSuffix(file, ".md")
	switch path.Base(name) {
	case "index", "_index":
		name = path.Dir(name)
	}
	if name == "." {
		return ""
	}
	return name + "/"
}

// parse reads a page as Hugo does.
func parse(t *testing.T, file string, content []byte) shown {
	t.Helper()
	head, source, found := bytes.Cut(bytes.TrimPrefix(content, []byte("---\n")), []byte("\n---\n"))
	s := shown{url: urlOf(file), source: source, anchors: map[string]bool{}}
	if err := yaml.UnmarshalStrict(head, &s.matter); !found || err != nil {
		t.Fatalf("%s has no front matter that can be read: %v", file, err)
	}
	s.document = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAttribute())).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(s.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			name, _ := id.([]byte)
			s.anchors[string(name)] = true
		case *ast.Link:
			s.links = append(s.links, string(n.Destination))
		case *ast.Image:
			s.links = append(s.links, string(n.Destination))
		case *ast.RawHTML:
			s.html(n.Segments.Value(source))
		case *ast.HTMLBlock:
			s.html(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return s
}

var (
	named  = regexp.MustCompile(`\sid="([^"]+)"`)
	linked = regexp.MustCompile(`\s(?:href|src)="([^"]+)"`)
)

func (s *shown) html(text []byte) {
	s.comments = s.comments || bytes.Contains(text, []byte("<!--"))
	for _, match := range named.FindAllSubmatch(text, -1) {
		s.anchors[string(match[1])] = true
	}
	for _, match := range linked.FindAllSubmatch(text, -1) {
		s.links = append(s.links, html.UnescapeString(string(match[1])))
	}
}

// pagesOf returns the pages among the files of the content, by their URLs.
func pagesOf(t *testing.T, content map[string][]byte) map[string]shown {
	t.Helper()
	pages := map[string]shown{}
	for name, text := range content {
		if path.Ext(name) == ".md" {
			s := parse(t, name, text)
			pages[s.url] = s
		}
	}
	return pages
}

func TestEveryPageIsOnTheSite(t *testing.T) {
	files, err := markdown.Files(repository)
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]bool{}
	for _, p := range pagesOf(t, generated(t)) {
		sources[p.matter.Params.Source] = true
		if p.matter.Title == "" || p.matter.Weight == 0 {
			t.Errorf("the page %q has the title %q and the weight %d", p.url, p.matter.Title, p.matter.Weight)
		}
	}
	if len(files) < 60 {
		t.Fatalf("the repository has %d pages, expected more", len(files))
	}
	for _, file := range files {
		if !sources[file] {
			t.Errorf("%s is not on the site", file)
		}
	}
}

// TestReferencePages are those that readers look for by name.
func TestReferencePages(t *testing.T) {
	content := generated(t)
	for _, name := range []string{
		"docs/reference/contract.md", "docs/reference/conditions.md", "docs/reference/mutants.md", "docs/reference/permissions.md",
		"docs/reference/metrics.md", "docs/reference/faults.md", "docs/reference/conformance.md", "docs/conformance-examples.md", "docs/conformance.md", "docs/benchmarks.md",
	} {
		if len(content[name]) < 1000 {
			t.Errorf("%s has %d bytes", name, len(content[name]))
		}
	}
	plot, err := os.ReadFile(filepath.Join(repository, "docs", "bench-operator.svg"))
	if err != nil || !bytes.Equal(plot, content["docs/bench-operator.svg"]) || !bytes.Contains(content["docs/benchmarks.md"], []byte("](../bench-operator.svg)")) {
		t.Errorf("the benchmarks don't show their plot: %v", err)
	}
}

// TestEveryLinkLeadsSomewhere follows all links of the site: to pages and their anchors, to images, and to files of the repository.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	content := generated(t)
	pages := pagesOf(t, content)
	count := 0
	for _, p := range pages {
		for _, link := range p.links {
			count++
			if problem := broken(content, pages, p, link); problem != "" {
				t.Errorf("on /%s, the link %s leads nowhere: %s", p.url, link, problem)
			}
		}
		if c := p.matter.Params.Chapter; c != nil {
			for _, beside := range []*neighbor{c.Prev, c.Next} {
				if beside != nil && broken(content, pages, p, beside.URL) != "" {
					t.Errorf("/%s is beside %s, which does not exist", p.url, beside.URL)
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("there are %d links, expected more than 1000", count)
	}
}

// broken says what is wrong with a link of a page; empty means nothing.
func broken(content map[string][]byte, pages map[string]shown, from shown, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if inside, ours := strings.CutPrefix(link, Repository+"/"); ours {
		return brokenFile(inside)
	}
	if u.Host != "" {
		return ""
	}
	to := path.Join("/", from.url, u.Path)[1:]
	if _, is := content[to]; is && path.Ext(to) != ".md" {
		return ""
	}
	if to != "" {
		to += "/"
	}
	p, is := pages[to]
	switch {
	case !is:
		return fmt.Sprintf("there is no page /%s", to)
	case u.Path != "" && !strings.HasSuffix(u.Path, "/"):
		return "it does not end with a slash, so that a browser would have to ask twice"
	case u.Fragment != "" && !p.anchors[u.Fragment]:
		return fmt.Sprintf("/%s has no #%s", to, u.Fragment)
	}
	return ""
}

// brokenFile checks a link to a file of the repository on GitHub.
func brokenFile(inside string) string {
	kind, name, _ := strings.Cut(inside, "/main/")
	name, _, _ = strings.Cut(name, "#")
	found, err := fs.Stat(os.DirFS(repository), name)
	switch {
	case name == "": // releases and the like
		return ""
	case err != nil:
		return err.Error()
	case found.IsDir() != (kind == "tree"):
		return kind + " is not what GitHub calls it"
	}
	return ""
}

func TestBlocksAreForReaders(t *testing.T) {
	commands := 0
	for _, p := range pagesOf(t, generated(t)) {
		if p.comments {
			t.Errorf("/%s has a comment", p.url)
		}
		_ = ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			block, is := n.(*ast.FencedCodeBlock)
			if !is || !entering {
				return ast.WalkContinue, nil
			}
			language, body := string(block.Language(p.source)), string(block.Lines().Value(p.source))
			switch language {
			case "console":
				t.Errorf("/%s has a block that mixes what is typed and printed:\n%s", p.url, body)
			case "command":
				commands++
				if strings.HasPrefix(body, "$ ") || strings.Contains(body, "\n$ ") || strings.TrimSpace(body) == "" {
					t.Errorf("/%s has a command with a prompt:\n%s", p.url, body)
				}
			}
			info := string(block.Info.Segment.Value(p.source))
			if strings.Contains(info, "file=") && !strings.Contains(info, `line="`) {
				t.Errorf("/%s has an excerpt without a line: %s", p.url, info)
			}
			return ast.WalkContinue, nil
		})
	}
	if commands < 200 {
		t.Errorf("there are %d blocks of commands, expected more than 200", commands)
	}
}

func TestChaptersFollowEachOther(t *testing.T) {
	chapters, err := chapter.ReadAll(filepath.Join(repository, "tutorial"))
	if err != nil {
		t.Fatal(err)
	}
	pages := pagesOf(t, generated(t))
	weight := 0
	for i, c := range chapters {
		m := pages["tutorial/"+c.Name+"/"].matter
		info := m.Params.Chapter
		if info == nil || info.Name != c.Name || info.Minutes != c.Minutes || info.Outcome != c.Outcome {
			t.Fatalf("the page of chapter %s says %+v", c.Name, info)
		}
		if m.Weight <= weight {
			t.Errorf("chapter %s has the weight %d, after %d", c.Name, m.Weight, weight)
		}
		weight = m.Weight
		if next := i+1 < len(chapters); next != (info.Next != nil) || next && info.Next.URL != "../"+chapters[i+1].Name+"/" || info.Prev == nil {
			t.Errorf("chapter %s is between %+v and %+v", c.Name, info.Prev, info.Next)
		}
	}
}

func TestTheSameRepositoryBecomesTheSameSite(t *testing.T) {
	first := generated(t)
	second, err := Generate(repository)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(first, second, bytes.Equal) {
		for _, name := range slices.Sorted(maps.Keys(first)) {
			if !bytes.Equal(first[name], second[name]) {
				t.Errorf("%s differs from one run to the next", name)
			}
		}
	}
}
