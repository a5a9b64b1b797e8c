package markdown

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// span is code within a line.
type span struct {
	line int
	text string
}

var (
	pathSpan = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+/?$`)
	makeSpan = regexp.MustCompile(`^make( [^ ]+)+$`)
	rule     = regexp.MustCompile(`(?m)^([a-zA-Z0-9_. -]+):([^=]|$)`)
	target   = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// tree is what a repository holds.
type tree struct {
	paths   map[string]bool // files and folders
	targets map[string]bool // of all Makefiles
}

func readTree(root string) (tree, error) {
	files, err := repositoryFiles(root)
	if err != nil {
		return tree{}, err
	}
	t := tree{map[string]bool{".": true}, map[string]bool{}}
	for _, file := range files {
		for at := file; !t.paths[at]; at = path.Dir(at) {
			t.paths[at] = true
		}
		if path.Base(file) != "Makefile" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return tree{}, err
		}
		for _, match := range rule.FindAllSubmatch(content, -1) {
			for name := range strings.FieldsSeq(string(match[1])) {
				t.targets[name] = true
			}
		}
	}
	return t, nil
}

// checkSpans checks that a file or target of make that is named within a line is there. A name is taken for a file if it
// begins with a folder at the root; others may be of a project that the page is about.
func checkSpans(root string, p *page) []Problem {
	if len(p.spans) == 0 {
		return nil
	}
	t, err := readTree(root)
	if err != nil {
		return []Problem{{p.file, 1, err.Error()}}
	}
	var problems []Problem
	for _, s := range p.spans {
		if wrong := t.missing(path.Dir(p.file), s.text); wrong != "" {
			problems = append(problems, Problem{p.file, s.line, wrong})
		}
	}
	return problems
}

// missing says what a span names that is not there.
func (t tree) missing(folder, text string) string {
	switch {
	case makeSpan.MatchString(text):
		for _, word := range strings.Fields(text)[1:] {
			if target.MatchString(word) && !t.targets[word] {
				return fmt.Sprintf("`%s` is named, but no Makefile has a target %s", text, word)
			}
		}
	case pathSpan.MatchString(text):
		first, _, _ := strings.Cut(text, "/")
		here, there := path.Clean(text), path.Join(folder, text)
		if t.paths[first] && !t.paths[here] && !t.paths[there] {
			return fmt.Sprintf("`%s` is named, but the repository has no such file", text)
		}
	}
	return ""
}
