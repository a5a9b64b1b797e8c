package site

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/example/operator-testbed/e2e/markdown"
)

// readmeURL is where the whole text of the README is.
const readmeURL = "readme/"

// page is a Markdown file, and where it is on the site.
type page struct {
	file     string // in the repository
	language string // empty for English
	original string // the English file; the same for an English page
	url      string // relative to the site's root: empty, or ends with a slash
	content  string // relative to Hugo's content directory
	title    string
	weight   int
}

// section is a directory with pages, without one of its own.
type section struct {
	directory string
	title     string
	weight    int
}

func (s section) url() string { return s.directory + "/" }

// translated matches the name of a translation, such as README.ko.md.
var translated = regexp.MustCompile(`^(.+)\.([a-z]{2})\.md$`)

// language returns the language of a page, which is empty for English, and the file of the English one.
func language(file string) (code, original string) {
	if match := translated.FindStringSubmatch(file); match != nil {
		return match[2], match[1] + ".md"
	}
	return "", file
}

// address returns the URL of a page, relative to the site's root.
func address(file string) string {
	code, original := language(file)
	url := strings.TrimSuffix(original, ".md")
	switch {
	case original == "README.md":
		url = ""
	case path.Base(original) == "README.md":
		url = path.Dir(original)
	}
	url = strings.ToLower(path.Join(code, url))
	if url == "" {
		return ""
	}
	return url + "/"
}

// contentPath returns the path of a page below Hugo's content directory. A README is the page of its directory, which Hugo calls a section
// if there are pages below it.
func contentPath(file string, isSection func(directory string) bool) string {
	code, original := language(file)
	end := ".md"
	if code != "" {
		end = "." + code + ".md"
	}
	directory, name := path.Split(strings.TrimSuffix(original, ".md"))
	switch {
	case name != "README":
		name = strings.ToLower(name)
	case isSection(path.Clean(directory)):
		name = "_index"
	default:
		name = "index"
	}
	return strings.ToLower(directory) + name + end
}

// readPages returns the pages among the files of a repository, and the sections that have none.
func readPages(files []string, read func(string) ([]byte, error)) (map[string]page, []section, error) {
	var pages []page
	sections := map[string]bool{".": true} // the directories with pages that are not theirs
	for _, file := range files {
		if path.Ext(file) != ".md" {
			continue
		}
		code, original := language(file)
		p := page{file: file, language: code, original: original, url: address(file)}
		source, err := read(file)
		if err != nil {
			return nil, nil, err
		}
		if p.title = heading(source); p.title == "" {
			return nil, nil, fmt.Errorf("%s has no heading: start it with a line such as # Title", file)
		}
		pages = append(pages, p)
		directory := path.Dir(original)
		if path.Base(original) == "README.md" {
			directory = path.Dir(directory)
		}
		for ; directory != "."; directory = path.Dir(directory) {
			sections[directory] = true
		}
	}
	found := map[string]page{}
	for _, p := range pages {
		p.content = contentPath(p.file, func(directory string) bool { return sections[directory] })
		found[p.file] = p
		if path.Base(p.original) == "README.md" && p.language == "" {
			delete(sections, path.Dir(p.file))
		}
	}
	weigh(found, read)
	return found, indexes(sections), nil
}

// indexes are the sections that need a page.
func indexes(directories map[string]bool) []section {
	var sections []section
	for directory := range directories {
		name := path.Base(directory)
		if directory == "docs" {
			name = "documentation"
		}
		sections = append(sections, section{directory: directory, title: strings.ToUpper(name[:1]) + name[1:], weight: sectionWeight})
	}
	slices.SortFunc(sections, func(a, b section) int { return strings.Compare(a.directory, b.directory) })
	return sections
}

// heading returns the title of a page: the text of its first heading.
func heading(source []byte) string {
	document := markdown.Parse(source)
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		if h, is := n.(*ast.Heading); is {
			return markdown.Plain(h, source)
		}
	}
	return ""
}

const (
	// weightStep is between the weights of pages that follow each other.
	weightStep = 10
	// sectionWeight puts sections behind the pages beside them.
	sectionWeight = 5000
	unnamedWeight = 2000
)

// numbered matches the names of pages whose order is in them.
var numbered = regexp.MustCompile(`^[0-9]+-`)

// weigh orders pages: the chapters and decisions as they are numbered, the others as the README, the tutorial's overview and the
// index of the documentation name them first, and those that none of them names at the end, by title.
func weigh(pages map[string]page, read func(string) ([]byte, error)) {
	weights := map[string]int{}
	for _, file := range []string{"README.md", "tutorial/README.md", "docs/README.md"} {
		source, err := read(file)
		if err != nil {
			continue // a repository of a test
		}
		for _, l := range links(markdown.Parse(source)) {
			target, _, _ := strings.Cut(l, "#")
			target = path.Join(path.Dir(file), target)
			// The glossary is for looking up, whatever names it first.
			if _, is := pages[target]; is && weights[target] == 0 && target != glossaryFile {
				weights[target] = weightStep * (1 + len(weights))
			}
		}
	}
	var unnamed []string
	for file, p := range pages {
		if p.language == "" && weights[file] == 0 {
			unnamed = append(unnamed, file)
		}
	}
	slices.SortFunc(unnamed, func(a, b string) int { return strings.Compare(pages[a].title+a, pages[b].title+b) })
	for i, file := range unnamed {
		weights[file] = unnamedWeight + weightStep*i
	}
	for file, p := range pages {
		p.weight = weights[p.original]
		name := path.Base(strings.TrimSuffix(p.original, "/README.md"))
		if digits := numbered.FindString(name); digits != "" {
			p.weight = 1
			for _, digit := range strings.Trim(digits, "-") {
				p.weight = 10*p.weight + int(digit-'0')
			}
			p.weight *= weightStep
		}
		pages[file] = p
	}
}

// weighUnnumbered puts each chapter without a number directly behind the one before it. The first chapter stays where it is.
func (g *generator) weighUnnumbered() {
	weights := map[string]int{}
	for file, p := range g.pages {
		if p.language == "" {
			weights[file] = p.weight
		}
	}
	for i, c := range g.chapters {
		if i == 0 || c.Number() != "" {
			continue
		}
		original := "tutorial/" + c.Name + "/README.md"
		weights[original] = weights["tutorial/"+g.chapters[i-1].Name+"/README.md"] + 1
		for file, p := range g.pages {
			if p.original == original {
				p.weight = weights[original]
				g.pages[file] = p
			}
		}
	}
}

// links are the destinations of a document's links, in their order.
func links(document ast.Node) []string {
	var found []string
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, is := n.(*ast.Link); is && entering {
			found = append(found, string(l.Destination))
		}
		return ast.WalkContinue, nil
	})
	return found
}
