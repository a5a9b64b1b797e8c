package markdown

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Problem is something in the text that is not true.
type Problem struct {
	File string
	Line int
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// page is a Markdown file.
type page struct {
	file    string // relative to the root
	source  []byte
	blocks  []block
	links   []link
	spans   []span
	anchors Anchors
}

// block is a fenced block.
type block struct {
	line   int // of the opening fence, from 1
	info   info
	text   string // ends with a newline unless it is empty
	indent string // of the opening fence
	begin  int    // offsets of what is between the fences
	end    int
	hidden bool // in a comment
	// fault is what is wrong with the block as such.
	fault string
}

// link is a link to somewhere.
type link struct {
	line   int
	target string
}

func readPage(root, file string) (*page, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	return parsePage(file, source), nil
}

func parsePage(file string, source []byte) *page {
	p := &page{file: file, source: source, anchors: Anchors{}}
	p.read(source)
	return p
}

// Parse parses Markdown as GitHub does.
func Parse(source []byte) ast.Node {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
}

// read takes in Markdown, which is the page or a part of it at its place.
func (p *page) read(source []byte) {
	document := Parse(source)
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			p.blocks = append(p.blocks, p.fenced(n))
		case *ast.CodeBlock:
			p.blocks = append(p.blocks, block{line: p.lineAt(n.Pos()), fault: "a block made by indentation can't say what it is: put it between fences"})
		case *ast.HTMLBlock:
			p.html(n)
		case *ast.RawHTML:
			p.anchors.HTML(n.Segments.Value(source))
		case *ast.Heading:
			p.anchors.Heading(Plain(n, source))
		case *ast.CodeSpan:
			p.spans = append(p.spans, span{p.lineAt(n.Pos()), Plain(n, source)})
		case *ast.Link:
			p.links = append(p.links, link{p.lineAt(n.Pos()), string(n.Destination)})
		case *ast.Image:
			p.links = append(p.links, link{p.lineAt(n.Pos()), string(n.Destination)})
		}
		return ast.WalkContinue, nil
	})
}

func (p *page) lineAt(offset int) int { return 1 + bytes.Count(p.source[:offset], []byte("\n")) }

// fenced finds a block's place in the page. The parser keeps neither the closing fence nor the end of an empty block.
func (p *page) fenced(n *ast.FencedCodeBlock) block {
	fence := n.Pos()
	if n.Info == nil {
		return block{line: p.lineAt(fence), fault: "the block does not say what it is: name its language behind the fence"}
	}
	begin := fence + lineEnd(p.source[fence:])
	end := begin
	if count := n.Lines().Len(); count > 0 {
		end = n.Lines().At(count - 1).Stop
	}
	opening := string(p.source[bytes.LastIndexByte(p.source[:fence], '\n')+1 : fence])
	b := block{
		line:   p.lineAt(fence),
		text:   string(n.Lines().Value(p.source)),
		indent: opening[:len(opening)-len(strings.TrimLeft(opening, " \t"))],
		begin:  begin,
		end:    end,
	}
	marks := bytes.TrimSpace(p.source[fence:n.Info.Segment.Start])
	closing := bytes.TrimLeft(p.source[end:end+lineEnd(p.source[end:])], " \t>")
	var err error
	if b.info, err = parseInfo(string(n.Info.Segment.Value(p.source))); err != nil {
		b.fault = err.Error()
	} else if !bytes.HasPrefix(closing, marks) {
		b.fault = "the block is never closed"
	}
	return b
}

// lineEnd is the length of the first line, with its newline if it has one.
func lineEnd(source []byte) int {
	if i := bytes.IndexByte(source, '\n'); i >= 0 {
		return i + 1
	}
	return len(source)
}

// html reads the blocks in a comment, and the anchors of other HTML.
func (p *page) html(n *ast.HTMLBlock) {
	start, stop := n.Pos(), n.Pos()
	if count := n.Lines().Len(); count > 0 {
		stop = n.Lines().At(count - 1).Stop
	}
	content := p.source[start:max(stop, n.ClosureLine.Stop)]
	p.anchors.HTML(content)
	inside, comment := bytes.CutPrefix(content, []byte("<!--"))
	if !comment {
		return
	}
	inside, _, _ = bytes.Cut(inside, []byte("-->"))
	// Readers don't see the links and headings of a comment.
	hidden := &page{file: p.file, source: p.source, anchors: Anchors{}}
	hidden.read(append(bytes.Repeat([]byte("\n"), start+len("<!--")), inside...))
	for _, b := range hidden.blocks {
		if b.fault == "" || b.info.language != "" {
			b.hidden = true
			p.blocks = append(p.blocks, b)
		}
	}
}

// Plain is the text of a node and of all in it.
func Plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
