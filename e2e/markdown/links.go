package markdown

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// Anchors are the names that a link to a page may end with.
type Anchors map[string]bool

// Heading adds the name that GitHub gives a heading, and returns it.
func (a Anchors) Heading(title string) string {
	name := slug(title)
	unique := name
	for i := 1; a[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	a[unique] = true
	return unique
}

// slug is what GitHub makes of a heading: small letters, digits, `_` and `-`; each blank becomes a `-`.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

var named = regexp.MustCompile(`<[a-z]+[^>]*\s(?:id|name)="([^"]+)"`)

// HTML adds the names that HTML gives.
func (a Anchors) HTML(html []byte) {
	for _, match := range named.FindAllSubmatch(html, -1) {
		a[string(match[1])] = true
	}
}

// follow says why a link leads nowhere.
func follow(root string, p *page, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Sprintf("the link %s can't be read: %v", target, err)
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	to := p
	if u.Path != "" {
		file := path.Join(path.Dir(p.file), u.Path)
		found, err := fs.Stat(os.DirFS(root), file) // which is nothing outside of the repository
		if err != nil || path.IsAbs(u.Path) {
			return fmt.Sprintf("the link %s leads nowhere: from this page's directory, there is no %s", target, u.Path)
		}
		if u.Fragment == "" || found.IsDir() || path.Ext(file) != ".md" {
			return ""
		}
		if to, err = readPage(root, file); err != nil {
			return err.Error()
		}
	}
	if u.Fragment != "" && !to.anchors[u.Fragment] {
		return fmt.Sprintf("the link %s leads nowhere: %s has no heading #%s", target, to.file, u.Fragment)
	}
	return ""
}
