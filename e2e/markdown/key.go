package markdown

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// underKey is the lines of a YAML file that hold a key and what is under it, in the first document that has it. Keys are
// joined by dots; a number is a place in a list, from 0.
func underKey(content, path string) (string, error) {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(content)))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return "", fmt.Errorf("it has no key %s", path)
		} else if err != nil {
			return "", err
		}
		at := &document
		if len(document.Content) > 0 {
			at = document.Content[0]
		}
		var place *yaml.Node
		column := 0 // the first that belongs to the place
		for step := range strings.SplitSeq(path, ".") {
			inList := at.Kind == yaml.SequenceNode
			if place, at = child(at, step); at == nil {
				break
			}
			column = place.Column
			// An item goes on in the column of its first word; what is under a key is further in than the key.
			if !inList {
				column++
			}
		}
		if at != nil && place != nil {
			return indented(content, place.Line, column, at.Kind == yaml.SequenceNode), nil
		}
	}
}

// child is where a key or list item stands, and what it holds.
func child(of *yaml.Node, step string) (place, value *yaml.Node) {
	switch of.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == step {
				return of.Content[i], of.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(of.Content) {
			return of.Content[i], of.Content[i]
		}
	}
	return nil, nil
}

// indented is a line and those after it that begin in a column, from 1, or further in. A list may begin in its key's own
// column.
func indented(content string, line, column int, list bool) string {
	lines := strings.SplitAfter(content, "\n")
	end := line
	for i := line; i < len(lines); i++ {
		trimmed := strings.TrimLeft(lines[i], " ")
		if strings.TrimSpace(trimmed) == "" {
			continue
		}
		in := len(lines[i]) - len(trimmed) + 1
		if in < column && (!list || in != column-1 || !strings.HasPrefix(trimmed, "- ")) {
			break
		}
		end = i + 1
	}
	return strings.Join(lines[line-1:end], "")
}
