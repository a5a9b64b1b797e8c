package site

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown"
)

// relative returns the link from one page to another, both relative to the site's root.
func relative(from, to string) string {
	up, down := strings.Split(strings.TrimSuffix(from, "/"), "/"), strings.Split(strings.TrimSuffix(to, "/"), "/")
	if from == "" {
		up = nil
	}
	if to == "" {
		down = nil
	}
	for len(up) > 0 && len(down) > 0 && up[0] == down[0] {
		up, down = up[1:], down[1:]
	}
	link := strings.Repeat("../", len(up)) + strings.Join(down, "/")
	switch {
	case link == "":
		return "./"
	case strings.HasSuffix(link, "/"), !strings.HasSuffix(to, "/"):
		return link
	}
	return link + "/"
}

// link returns where a link of a page leads on the site, and the image that has to be there if it shows one.
func (g *generator) link(p page, target string, isImage bool) (link, image string, err error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", "", fmt.Errorf("the link %s can't be read: %w", target, err)
	}
	if u.Scheme != "" || u.Host != "" {
		return target, "", nil
	}
	if u.Path == "" {
		return g.withoutTitle(p.file, "", u.Fragment), "", nil
	}
	file := path.Join(path.Dir(p.file), u.Path)
	switch {
	case isImage:
		return relative(p.url, file), file, nil
	case !g.files[file]:
		return "", "", fmt.Errorf("the link %s leads nowhere: there is no %s", target, file)
	}
	to, isPage := g.page(file, p.language)
	if isPage && to.language != "" && u.Fragment != "" && !g.hasAnchor(to, u.Fragment) {
		// The headings of a translation have other names, unless its author kept them.
		to, isPage = g.page(file, "")
	}
	if isPage {
		link := relative(p.url, to.url)
		if to.file == "README.md" && u.Fragment != "" {
			link = relative(p.url, readmeURL)
		}
		return g.withoutTitle(to.file, link, u.Fragment), "", nil
	}
	for _, s := range g.sections {
		if s.directory == file {
			return relative(p.url, s.url()), "", nil
		}
	}
	return g.inRepository(file, u.Fragment), "", nil
}

// page returns the page that a file or directory is on the site, in a language if it is translated.
func (g *generator) page(file, language string) (page, bool) {
	for _, name := range []string{file, path.Join(file, "README.md")} {
		if language != "" {
			if p, is := g.pages[strings.TrimSuffix(name, ".md")+"."+language+".md"]; is {
				return p, true
			}
		}
		if p, is := g.pages[name]; is {
			return p, true
		}
	}
	return page{}, false
}

// hasAnchor reports whether a page has what a link to it ends with.
func (g *generator) hasAnchor(p page, fragment string) bool {
	source, err := g.read(p.file)
	return err == nil && markdown.AnchorsOf(source)[fragment]
}

// withoutTitle adds a fragment to a link, unless it names the title of the page: that is not in the text, but above it.
func (g *generator) withoutTitle(file, link, fragment string) string {
	if fragment == "" {
		return link
	}
	if title := titleAnchor(g.pages[file].title); fragment == title {
		if link == "" {
			return "#"
		}
		return link
	}
	return link + "#" + fragment
}

// inRepository is the URL of a file or a directory that is not a page.
func (g *generator) inRepository(file, fragment string) string {
	kind := "blob"
	for other := range g.files {
		if strings.HasPrefix(other, file+"/") {
			kind = "tree"
			break
		}
	}
	link := Repository + "/" + kind + "/main/" + file
	if fragment != "" {
		link += "#" + fragment
	}
	return link
}
