package site

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/example/operator-testbed/e2e/markdown"
)

// glossaryFile is where terms are explained.
const glossaryFile = "docs/glossary.md"

// term is an entry of the glossary.
type term struct {
	names      []string
	definition string // plain text
	anchor     string
	place      int            // the offset of the entry in the glossary
	pattern    *regexp.Regexp // matches a use of the term, and is nil for one that pages use in another sense, too
	scope      scope
}

// scope is where a term explains itself. A link to the glossary with its name does so everywhere.
type scope int

const (
	everywhere scope = iota
	inChapters       // elsewhere it has other senses: the cache of modules, a package manager, a group of learners
	nowhere          // it is a verb as well: watch what happens, descriptions that drift apart
)

// scopes are those of terms that don't explain themselves everywhere.
var scopes = map[string]scope{
	"cache": inChapters, "event": inChapters, "fence": inChapters, "group": inChapters, "manager": inChapters,
	"drift": nowhere, "watch": nowhere,
}

// readGlossary reads the entries of the glossary's tables.
func readGlossary(source []byte) []term {
	var terms []term
	_ = ast.Walk(markdown.Parse(source), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		row, is := n.(*extast.TableRow)
		if !is || !entering || row.ChildCount() < 2 {
			return ast.WalkContinue, nil
		}
		first := row.FirstChild()
		entry := markdown.Plain(first, source)
		t := term{
			names: strings.Split(entry, ", "), definition: strings.ReplaceAll(markdown.Plain(first.NextSibling(), source), `\|`, "|"),
			anchor: titleAnchor(entry), place: textStart(first),
		}
		t.scope = scopes[entry]
		// A word with an explanation has other senses.
		if !strings.Contains(entry, "(") {
			t.pattern = regexp.MustCompile("^(?:" + t.expression() + ")$")
		}
		terms = append(terms, t)
		return ast.WalkSkipChildren, nil
	})
	return terms
}

// expression is a regular expression for a term as it occurs in a sentence: at its start, too, and in the plural.
func (t term) expression() string {
	var alternatives []string
	for _, name := range t.names {
		first := regexp.QuoteMeta(name[:1])
		if lower := strings.ToLower(name[:1]); lower == name[:1] {
			first = "[" + lower + strings.ToUpper(lower) + "]"
		}
		alternatives = append(alternatives, first+regexp.QuoteMeta(name[1:])+"(?:s|es)?")
	}
	return strings.Join(alternatives, "|")
}

// textStart is the offset of the first text in a node.
func textStart(n ast.Node) int {
	start := -1
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && entering && start < 0 {
			start = t.Segment.Start
		}
		return ast.WalkContinue, nil
	})
	return start
}

// explained returns the HTML of a term that explains itself. It may be in a table's cell.
func explained(link, text string, t term) string {
	title := strings.ReplaceAll(html.EscapeString(t.definition), "|", "&#124;")
	return fmt.Sprintf(`<a class="term" href="%s" title="%s">%s</a>`, link, title, text)
}

// explainer finds the first use of each term in a page.
type explainer struct {
	terms   []term
	pattern *regexp.Regexp  // of all terms that explain themselves on the page; nil if there are none
	used    map[string]bool // by their anchors
	link    string          // to the glossary
}

// newExplainer returns one for the terms that explain themselves in a chapter, or elsewhere.
func newExplainer(terms []term, inChapter bool, link string) explainer {
	e := explainer{terms: terms, used: map[string]bool{}, link: link}
	var expressions []string
	for _, t := range terms {
		if t.pattern != nil && (t.scope == everywhere || t.scope == inChapters && inChapter) {
			expressions = append(expressions, t.expression())
		}
	}
	if len(expressions) > 0 {
		e.pattern = regexp.MustCompile(`\b(?:` + strings.Join(expressions, "|") + `)\b`)
		e.pattern.Longest() // a longer term wins over one that is a part of it
	}
	return e
}

// explain returns edits for the terms between two offsets of a page.
func (e *explainer) explain(source []byte, start, stop int) []edit {
	if e.pattern == nil {
		return nil
	}
	var edits []edit
	for _, place := range e.pattern.FindAllIndex(source[start:stop], -1) {
		from, to := start+place[0], start+place[1]
		t, is := e.named(string(source[from:to]))
		if is && !e.used[t.anchor] && whole(source, from, to) {
			e.used[t.anchor] = true
			edits = append(edits, edit{from, to, explained(e.link+"#"+t.anchor, string(source[from:to]), t)})
		}
	}
	return edits
}

// whole reports whether a match is a word of its own, and not a part of a longer one, of a path or of a setting.
func whole(source []byte, from, to int) bool {
	const joins = "-/_@="
	before := from == 0 || !strings.ContainsRune(joins+".", rune(source[from-1]))
	after := to == len(source) || !strings.ContainsRune(joins, rune(source[to])) &&
		(source[to] != '.' || to+1 == len(source) || strings.ContainsRune(" \n*)\"", rune(source[to+1])))
	return before && after
}

// named returns the term that a text names.
func (e *explainer) named(text string) (term, bool) {
	for _, t := range e.terms {
		if t.pattern != nil && t.pattern.MatchString(text) {
			return t, true
		}
	}
	return term{}, false
}
