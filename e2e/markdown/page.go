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
	file   string // relative to the root
	source []byte
	blocks []block
	links  []link
	spans  []span
	// anchors are the names that a link to this page may end with.
	anchors map[string]bool
}

// block is a fenced block.
type block struct {
	line   int // of the opening fence, from 1
	info   info
	text   string // ends with a newline unless it is empty
	indent string // of the opening fence
	begin  int    // offsets of what is between the fences
	end    int
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
	p := &page{file: file, source: source, anchors: map[string]bool{}}
	p.read(source, 0)
	return p
}

// read takes in what source holds, which begins at an offset of the page: a comment holds Markdown of its own.
func (p *page) read(source []byte, offset int) {
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	line := 1
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		// A link within a line has no place of its own: its block has.
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			line = p.lineAt(offset + n.Lines().At(0).Start)
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			p.blocks = append(p.blocks, p.fenced(n, source, offset))
		case *ast.CodeBlock:
			p.blocks = append(p.blocks, block{line: line, fault: "a block made by indentation can't say what it is: put it between fences"})
		case *ast.HTMLBlock:
			p.html(n, source, offset)
		case *ast.RawHTML:
			p.anchor(n.Segments.Value(source))
		case *ast.Heading:
			p.heading(plain(n, source))
		case *ast.CodeSpan:
			p.spans = append(p.spans, span{line, plain(n, source)})
		case *ast.Link:
			p.links = append(p.links, link{line, string(n.Destination)})
		case *ast.Image:
			p.links = append(p.links, link{line, string(n.Destination)})
		}
		return ast.WalkContinue, nil
	})
}

func (p *page) lineAt(offset int) int { return 1 + bytes.Count(p.source[:offset], []byte("\n")) }

// fenced finds a block's place in the page. The parser keeps neither the fences nor the end of an empty block.
func (p *page) fenced(n *ast.FencedCodeBlock, source []byte, offset int) block {
	if n.Info == nil {
		at := p.lineBefore(n, offset)
		return block{line: at, fault: "the block says not what it is: name its language behind the fence"}
	}
	fence := offset + n.Info.Segment.Start
	begin := fence + lineEnd(p.source[fence:])
	end := begin
	if count := n.Lines().Len(); count > 0 {
		end = offset + n.Lines().At(count-1).Stop
	}
	opening := p.source[bytes.LastIndexByte(p.source[:fence], '\n')+1 : fence]
	marks := strings.TrimLeft(string(opening), " \t>-*0123456789.")
	b := block{
		line:   p.lineAt(fence),
		text:   string(n.Lines().Value(source)),
		indent: string(opening[:len(opening)-len(strings.TrimLeft(string(opening), " \t"))]),
		begin:  begin,
		end:    end,
	}
	closing := strings.TrimLeft(string(p.source[end:end+lineEnd(p.source[end:])]), " \t>")
	if !strings.HasPrefix(closing, strings.TrimSpace(marks)) {
		b.fault = "the block is never closed"
	}
	parsed, err := parseInfo(string(n.Info.Segment.Value(source)))
	if err != nil {
		b.fault = err.Error()
	}
	b.info = parsed
	return b
}

// lineBefore is the line of a fence without any word behind it.
func (p *page) lineBefore(n *ast.FencedCodeBlock, offset int) int {
	if n.Lines().Len() == 0 {
		return p.lineAt(offset)
	}
	return p.lineAt(offset+n.Lines().At(0).Start) - 1
}

// lineEnd is the length of the first line, with its newline if it has one.
func lineEnd(source []byte) int {
	if i := bytes.IndexByte(source, '\n'); i >= 0 {
		return i + 1
	}
	return len(source)
}

// html reads the blocks in a comment, and the anchors of other HTML.
func (p *page) html(n *ast.HTMLBlock, source []byte, offset int) {
	if n.Lines().Len() == 0 {
		return
	}
	start, stop := n.Lines().At(0).Start, n.Lines().At(n.Lines().Len()-1).Stop
	if n.HasClosure() {
		stop = max(stop, n.ClosureLine.Stop)
	}
	content := source[start:stop]
	p.anchor(content)
	inside, comment := bytes.CutPrefix(content, []byte("<!--"))
	if !comment {
		return
	}
	if closing := bytes.Index(inside, []byte("-->")); closing >= 0 {
		inside = inside[:closing]
	}
	// What links and headings a comment holds, nobody sees.
	hidden := &page{file: p.file, source: p.source, anchors: map[string]bool{}}
	hidden.read(inside, offset+start+len("<!--"))
	for _, b := range hidden.blocks {
		if b.fault == "" || b.info.language != "" {
			p.blocks = append(p.blocks, b)
		}
	}
}

// plain is the text of a node and of all in it.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
