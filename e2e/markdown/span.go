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

// tree is the files of a repository, and the targets of make.
type tree struct {
	paths   map[string]bool // files and directories
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

// missing says what a span names that does not exist: a target of make, or a file. A name is taken for a file if it starts with a
// directory at the root; others may be of a project that the page is about.
func (t tree) missing(directory, text string) string {
	switch {
	case makeSpan.MatchString(text):
		words := strings.Fields(text)
		for i, word := range words[1:] {
			if words[i] == "-C" { // a directory
				continue
			}
			if target.MatchString(word) && !t.targets[word] {
				return fmt.Sprintf("`%s` is named, but no Makefile has a target %s", text, word)
			}
		}
	case pathSpan.MatchString(text):
		first, _, _ := strings.Cut(text, "/")
		here, there := path.Clean(text), path.Join(directory, text)
		if t.paths[first] && !t.paths[here] && !t.paths[there] {
			return fmt.Sprintf("`%s` is named, but the repository has no such file", text)
		}
	}
	return ""
}
