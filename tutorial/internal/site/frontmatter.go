package site

import (
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// matter is the front matter of a page.
type matter struct {
	Title       string `json:"title"`
	Weight      int    `json:"weight"`
	Description string `json:"description,omitempty"`
	// Prev and Next are the paths of chapters.
	Prev string `json:"prev,omitempty"`
	Next string `json:"next,omitempty"`
	// Aliases are former addresses of the page, at which Hugo puts a redirect.
	Aliases []string `json:"aliases,omitempty"`
	Params  params   `json:"params"`
}

type params struct {
	// Source is the page's file in the repository.
	Source string `json:"source"`
	// Drifted is true for a translation of a page that has changed since.
	Drifted bool         `json:"drifted,omitempty"`
	Chapter *chapterInfo `json:"chapter,omitempty"`
}

// chapterInfo is what a chapter's page shows of its chapter.yaml.
type chapterInfo struct {
	Name     string        `json:"name"`
	Minutes  int           `json:"minutes"`
	Runs     []chapter.Way `json:"runs"`
	BuildsOn string        `json:"buildsOn,omitempty"`
	Needs    chapter.Need  `json:"needs"`
	Outcome  string        `json:"outcome"`
	Prev     *neighbor     `json:"prev,omitempty"`
	Next     *neighbor     `json:"next,omitempty"`
}

// neighbor is the page before or after another.
type neighbor struct {
	URL   string `json:"url"` // relative to the page
	Title string `json:"title"`
}

// frontMatter returns the lines above the text of a page.
func (g *generator) frontMatter(p page, b body) ([]byte, error) {
	m := matter{Title: p.title, Weight: p.weight, Description: b.description, Params: params{Source: p.file}}
	if p.url != readmeURL {
		m.Aliases = g.former[p.file]
	}
	if p.language != "" {
		state, err := stateOf(p.file, g.read)
		if err != nil {
			return nil, err
		}
		m.Params.Drifted = state == Drifted
	}
	if at := g.chapterOf(p); at >= 0 {
		c := g.chapters[at]
		info := &chapterInfo{Name: c.Name, Minutes: c.Minutes, Runs: c.Runs, BuildsOn: c.BuildsOn, Needs: c.Needs, Outcome: c.Outcome}
		previous := "tutorial"
		if at > 0 {
			previous = "tutorial/" + g.chapters[at-1].Name
		}
		info.Prev, m.Prev = g.neighbor(p, previous)
		if at+1 < len(g.chapters) {
			info.Next, m.Next = g.neighbor(p, "tutorial/"+g.chapters[at+1].Name)
		}
		m.Params.Chapter = info
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte("---\n"), text, []byte("---\n\n")), nil
}

// chapterOf returns the place of the chapter whose page it is, and -1 for other pages.
func (g *generator) chapterOf(p page) int {
	return slices.IndexFunc(g.chapters, func(c chapter.Chapter) bool { return "tutorial/"+c.Name+"/README.md" == p.original })
}

// neighbor returns a page beside another, and its path for Hugo.
func (g *generator) neighbor(p page, directory string) (*neighbor, string) {
	to, is := g.page(directory, p.language)
	if !is {
		return nil, ""
	}
	return &neighbor{URL: relative(p.url, to.url), Title: to.title}, "/" + directory
}
