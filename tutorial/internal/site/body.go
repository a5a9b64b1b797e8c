package site

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/example/operator-testbed/e2e/markdown"
)

// body is the text of a page without its title, as the site shows it.
type body struct {
	text        []byte
	images      []string
	description string // the first paragraph, plain
}

// writer makes the body of a page.
type writer struct {
	g         *generator
	page      page
	source    []byte
	edits     []edit
	images    []string
	anchors   markdown.Anchors
	explainer explainer
	first     string // paragraph
	titled    bool
}

// titleAnchor is the anchor of a heading that is the only one.
func titleAnchor(title string) string { return markdown.Anchors{}.Heading(title) }

func (g *generator) body(p page) (body, error) {
	source, err := g.read(p.file)
	if err != nil {
		return body{}, err
	}
	w := &writer{g: g, page: p, source: source, anchors: markdown.Anchors{}}
	var terms []term
	// A definition is in one language, and the landing page is not for reading.
	if p.language == "" && p.file != glossaryFile && p.url != "" {
		terms = g.glossary
	}
	w.explainer = newExplainer(terms, g.chapterOf(p) >= 0, relative(p.url, address(glossaryFile)))
	if p.file == glossaryFile {
		for _, t := range g.glossary {
			w.edits = append(w.edits, edit{t.place, t.place, fmt.Sprintf(`<a id="%s"></a>`, t.anchor)})
		}
	}
	if err := w.fences(); err != nil {
		return body{}, err
	}
	if err := w.walk(markdown.Parse(source)); err != nil {
		return body{}, err
	}
	text, err := applied(source, w.edits)
	if err != nil {
		return body{}, err
	}
	for _, shortcode := range []string{"{{<", "{{%"} {
		if bytes.Contains(text, []byte(shortcode)) {
			return body{}, fmt.Errorf("it has %s, which Hugo takes for a shortcode: write it in another way", shortcode)
		}
	}
	text = append(bytes.TrimSpace(text), '\n')
	return body{text, w.images, summary(w.first)}, nil
}

// fences replaces the fenced blocks.
func (w *writer) fences() error {
	fences, err := markdown.Fences(w.page.file, w.source)
	if err != nil {
		return err
	}
	for _, f := range fences {
		text, err := w.g.block(f)
		if err != nil {
			return err
		}
		var b strings.Builder
		for line := range strings.Lines(text) {
			if line != "\n" {
				b.WriteString(f.Indent)
			}
			b.WriteString(line)
		}
		w.edits = append(w.edits, edit{f.Start, f.End, b.String()})
	}
	return nil
}

// walk replaces everything else.
func (w *writer) walk(document ast.Node) error {
	return ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			w.heading(n)
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if err := w.headingLinks(c); err != nil {
					return ast.WalkStop, err
				}
			}
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph:
			if w.first == "" && n.Parent().Kind() == ast.KindDocument {
				w.first = markdown.Plain(n, w.source)
			}
		case *ast.HTMLBlock:
			w.html(n)
		case *ast.RawHTML:
			if text := n.Segments.Value(w.source); bytes.HasPrefix(text, []byte("<!--")) {
				w.edits = append(w.edits, edit{start: n.Segments.At(0).Start, end: n.Segments.At(n.Segments.Len() - 1).Stop})
			}
		case *ast.CodeSpan, *ast.AutoLink:
			return ast.WalkSkipChildren, nil
		case *ast.Link, *ast.Image:
			return ast.WalkSkipChildren, w.link(n)
		case *ast.Text:
			w.edits = append(w.edits, w.explainer.explain(w.source, n.Segment.Start, n.Segment.Stop)...)
		}
		return ast.WalkContinue, nil
	})
}

// heading removes the page's title, which the layout shows, and gives every other heading the anchor that it has on GitHub.
func (w *writer) heading(n *ast.Heading) {
	anchor := w.anchors.Heading(markdown.Plain(n, w.source))
	if n.Lines().Len() == 0 {
		return
	}
	last := n.Lines().At(n.Lines().Len() - 1)
	if w.titled {
		end := last.Stop
		for end > last.Start && (w.source[end-1] == '\n' || w.source[end-1] == ' ') {
			end--
		}
		w.edits = append(w.edits, edit{end, end, " {#" + anchor + "}"})
		return
	}
	w.titled = true
	start := bytes.LastIndexByte(w.source[:n.Lines().At(0).Start], '\n') + 1
	end := last.Stop
	if i := bytes.IndexByte(w.source[end:], '\n'); i >= 0 && w.source[end-1] != '\n' {
		end += i + 1
	}
	w.edits = append(w.edits, edit{start: start, end: end})
}

// headingLinks rewrites the links in a heading that is shown.
func (w *writer) headingLinks(n ast.Node) error {
	if w.page.title == markdown.Plain(n.Parent(), w.source) {
		return nil
	}
	switch n.(type) {
	case *ast.Link, *ast.Image:
		return w.link(n)
	}
	return nil
}

// html removes comments: they are for the program that checks the page.
func (w *writer) html(n *ast.HTMLBlock) {
	start, stop := n.Pos(), n.Pos()
	if count := n.Lines().Len(); count > 0 {
		stop = n.Lines().At(count - 1).Stop
	}
	stop = max(stop, n.ClosureLine.Stop)
	content := w.source[start:stop]
	w.anchors.HTML(content)
	if !bytes.HasPrefix(content, []byte("<!--")) {
		return
	}
	if end := bytes.Index(content, []byte("-->")); end >= 0 && len(bytes.TrimSpace(content[end+3:])) > 0 {
		stop = start + end + 3
	}
	w.edits = append(w.edits, edit{start: start, end: stop})
}

// link rewrites where a link leads, or an image is. One whose text is a term, and that leads to the glossary, leads to that entry.
func (w *writer) link(n ast.Node) error {
	var destination string
	image, isImage := n.(*ast.Image)
	if isImage {
		destination = string(image.Destination)
	} else {
		destination = string(n.(*ast.Link).Destination)
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if c.Kind() == ast.KindImage {
				if err := w.link(c); err != nil {
					return err
				}
			}
		}
	}
	start, err := w.destination(n, destination)
	if err != nil {
		return err
	}
	if e, is := w.termLink(n, destination, start); is {
		w.edits = append(w.edits, e)
		return nil
	}
	to, shown, err := w.g.link(w.page, destination, isImage)
	if err != nil {
		return err
	}
	if shown != "" {
		w.images = append(w.images, shown)
	}
	w.edits = append(w.edits, edit{start, start + len(destination), to})
	return nil
}

// termLink returns the edit for a link to the glossary whose text is one of its terms.
func (w *writer) termLink(n ast.Node, destination string, start int) (edit, bool) {
	if path.Join(path.Dir(w.page.file), destination) != glossaryFile {
		return edit{}, false
	}
	text := markdown.Plain(n, w.source)
	t, is := w.explainer.named(text)
	if !is {
		return edit{}, false
	}
	w.explainer.used[t.anchor] = true
	return edit{n.Pos(), start + len(destination) + len(")"), explained(w.explainer.link+"#"+t.anchor, html.EscapeString(text), t)}, true
}

// destination finds the offset of a link's destination, which the parser does not keep.
func (w *writer) destination(n ast.Node, destination string) (int, error) {
	after := n.Pos()
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering {
			after = max(after, t.Segment.Stop)
		}
		return ast.WalkContinue, nil
	})
	for {
		i := bytes.Index(w.source[after:], []byte("]("))
		if i < 0 {
			return 0, fmt.Errorf("the link to %s is not written as [text](destination)", destination)
		}
		after += i + len("](")
		if bytes.HasPrefix(w.source[after:], []byte(destination)) {
			return after, nil
		}
		if n.LastChild() == nil || n.LastChild().Kind() != ast.KindImage {
			return 0, errors.New("the link to " + destination + " is not written as [text](destination)")
		}
	}
}

// summary is the first sentences of a paragraph, as many as fit into what search engines show, without one that goes on in a list or is
// too long.
func summary(paragraph string) string {
	const limit = 200
	text := strings.Join(strings.Fields(paragraph), " ")
	start := text[:min(len(text), limit)]
	if len(text) <= limit && strings.HasSuffix(text, ".") {
		return text
	}
	if end := strings.LastIndex(start, ". "); end > 0 {
		return start[:end+1]
	}
	if end := strings.LastIndexByte(start, ' '); len(text) > limit && end > 0 {
		return start[:end] + " …"
	}
	return text
}
