package markdown

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown/source"
)

// excerpt is what a block that names a file should show.
func excerpt(root string, i info) (string, error) {
	content, err := readFile(root, i.attributes["file"])
	if err != nil {
		return "", err
	}
	return part(i, i.attributes["file"], content)
}

// part is what the attributes of a block choose of a file.
func part(i info, file, content string) (string, error) {
	var chosen string
	var err error
	switch {
	case i.has("decl"):
		chosen, err = source.Declarations(file, content, strings.Split(i.attributes["decl"], ","))
	case i.has("key"):
		chosen, err = underKey(content, i.attributes["key"])
	case i.language != "diff" && i.has("from"):
		chosen, err = between(content, i.attributes["from"], i.attributes["to"])
	default:
		chosen = content
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return source.Dedent(chosen), nil
}

func readFile(root, file string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s", file)
	}
	if err != nil {
		return "", err
	}
	return string(content), nil
}

// between is what a file holds from the first line that begins with one text to the first after it that begins with
// another, both included. Without the other it is one line. Indentation does not count.
func between(content, from, to string) (string, error) {
	var chosen []string
	for line := range strings.Lines(content) {
		begins := strings.TrimLeft(line, " \t")
		if len(chosen) == 0 && !strings.HasPrefix(begins, from) {
			continue
		}
		chosen = append(chosen, line)
		if to == "" || (len(chosen) > 1 && strings.HasPrefix(begins, to)) {
			return strings.Join(chosen, ""), nil
		}
	}
	if len(chosen) == 0 {
		return "", fmt.Errorf("no line begins with %q", from)
	}
	return "", fmt.Errorf("no line after the one that begins with %q begins with %q", from, to)
}
