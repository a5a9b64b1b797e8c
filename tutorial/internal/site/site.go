// Package site makes the content of a web site, which Hugo then builds, from the Markdown files of the repository. The files are the
// only source and stay readable on GitHub: links lead to pages of the site, commands are set apart from what they print, excerpts name
// their file and line, and the first use of each of the glossary's terms explains itself.
//
// The generated blocks, which the layouts of docs/site render:
//
//	```command {terminal="2" needs="kind"}   what a reader types, without prompts; also background, exit and skip as in the page
//	```command {key="Ctrl-C" terminal="2"}   a key to press there
//	```output                                what is printed
//	```go {file="PATH" line="12"}            an excerpt of a file; a diff has from and to, a refused file broken="true"
//	```text {source="https://…"}             a quotation
//	```mermaid                               a diagram
package site

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// Repository is where readers of the site find files that are not pages.
const Repository = "https://github.com/example/operator-testbed"

// generator is what pages are made from.
type generator struct {
	root     string
	files    map[string]bool // of the repository, and their directories
	pages    map[string]page // by their file
	sections []section
	chapters []chapter.Chapter
	glossary []term
	former   map[string][]string // addresses of a page, by its file
	read     func(file string) ([]byte, error)
}

// Generate returns the files of Hugo's content directory for the repository at root, by their paths below it.
func Generate(root string) (map[string][]byte, error) {
	g, err := newGenerator(root)
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for _, file := range g.order() {
		generated, images, err := g.generate(g.pages[file])
		if err != nil {
			return nil, err
		}
		content[g.pages[file].content] = generated
		if file == "README.md" {
			if content["readme.md"], err = g.fullReadme(); err != nil {
				return nil, err
			}
		}
		for _, image := range images {
			if content[image], err = g.read(image); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range g.sections {
		content[path.Join(s.directory, "_index.md")] = g.index(s)
	}
	return content, nil
}

func newGenerator(root string) (*generator, error) {
	files, err := markdown.RepositoryFiles(root)
	if err != nil {
		return nil, err
	}
	g := &generator{root: root, files: map[string]bool{".": true}}
	g.read = func(file string) ([]byte, error) {
		return os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	}
	for _, file := range files {
		for at := file; !g.files[at]; at = path.Dir(at) {
			g.files[at] = true
		}
	}
	if g.chapters, err = chapter.ReadAll(filepath.Join(root, "tutorial")); err != nil {
		return nil, err
	}
	if g.pages, g.sections, err = readPages(files, g.read); err != nil {
		return nil, err
	}
	g.weighUnnumbered()
	if g.former, err = g.readMoved(); err != nil {
		return nil, err
	}
	glossary, err := g.read(glossaryFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	g.glossary = readGlossary(glossary)
	return g, nil
}

// order is the files of the pages, in the order in which they are generated.
func (g *generator) order() []string {
	var files []string
	for file := range g.pages {
		files = append(files, file)
	}
	slices.Sort(files)
	return files
}

// generate returns a page as Hugo reads it, and the images that it shows.
func (g *generator) generate(p page) (content []byte, images []string, err error) {
	b, err := g.body(p)
	if err != nil {
		return nil, nil, fmt.Errorf("generate the page of %s: %w", p.file, err)
	}
	matter, err := g.frontMatter(p, b)
	if err != nil {
		return nil, nil, err
	}
	return slices.Concat(matter, b.text), b.images, nil
}

// fullReadme is the README as a page like the others, because the landing page may show less of it.
func (g *generator) fullReadme() ([]byte, error) {
	p := g.pages["README.md"]
	p.url, p.title = readmeURL, "README"
	content, _, err := g.generate(p)
	return content, err
}

// index is the page of a directory that has none: a list of what is in it.
func (g *generator) index(s section) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s\nweight: %d\n---\n\n", s.title, s.weight)
	var inside []page
	for _, p := range g.pages {
		if p.language == "" && path.Dir(strings.TrimSuffix(p.url, "/")) == s.directory {
			inside = append(inside, p)
		}
	}
	slices.SortFunc(inside, func(a, b page) int { return cmp.Or(a.weight-b.weight, strings.Compare(a.file, b.file)) })
	for _, p := range inside {
		fmt.Fprintf(&b, "- [%s](%s)\n", escaped(p.title), relative(s.url(), p.url))
	}
	for _, other := range g.sections {
		if path.Dir(other.directory) == s.directory {
			fmt.Fprintf(&b, "- [%s](%s)\n", other.title, relative(s.url(), other.url()))
		}
	}
	return []byte(b.String())
}

// escaped is text as Markdown shows it, such as a title with a `*` in it.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", "&lt;").Replace(text)
}
