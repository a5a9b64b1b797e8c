package markdown

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown/source"
)

// errNoFile is the error about a file that a block names and that is not there.
var errNoFile = errors.New("there is no file")

// excerpt is what the attributes of a block choose of a file.
func excerpt(root, file string, i info) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w %s", errNoFile, file)
	}
	if err != nil {
		return "", err
	}
	chosen := string(content)
	switch {
	case i.has("decl"):
		chosen, err = source.Declarations(file, chosen, strings.Split(i.attributes["decl"], ","))
	case i.has("key"):
		chosen, err = underKey(chosen, i.attributes["key"])
	case i.language != "diff" && i.has("from"):
		chosen, err = between(chosen, i.attributes["from"], i.attributes["to"])
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return source.Dedent(chosen), nil
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
		return "", fmt.Errorf("no line starts with %q", from)
	}
	return "", fmt.Errorf("no line after the one that starts with %q starts with %q", from, to)
}
