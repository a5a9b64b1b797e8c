package markdown

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Fence is a fenced block that readers of a page see, for programs that show pages in another way.
type Fence struct {
	// Line is that of the opening fence, from 1.
	Line int
	// Start and End are the offsets of the whole block, from the start of the opening fence's line to the end of the closing one's.
	Start, End int
	// Indent is what the opening fence's line starts with.
	Indent string
	// Language and Attributes are what is behind the opening fence; a flag has an empty value.
	Language   string
	Attributes map[string]string
	// Text is what is between the fences, and ends with a newline unless it is empty.
	Text string
}

// Fences returns the blocks of a page that are not in comments, in their order.
func Fences(file string, source []byte) ([]Fence, error) {
	var fences []Fence
	for _, b := range inOrder(parsePage(file, source).blocks) {
		if b.hidden {
			continue
		}
		if b.fault != "" {
			return nil, fmt.Errorf("%s:%d: %s", file, b.line, b.fault)
		}
		// The text begins on the line after the opening fence.
		start := bytes.LastIndexByte(source[:b.begin-1], '\n') + 1
		fences = append(fences, Fence{
			Line: b.line, Start: start, End: b.end + lineEnd(source[b.end:]), Indent: b.indent,
			Language: b.info.language, Attributes: b.info.attributes, Text: b.text,
		})
	}
	return fences, nil
}

// Console is what a console block shows.
type Console struct {
	// Before is what a command in the background has printed since, and Interrupted that Ctrl-C then ends it, and prints After.
	Before      []string
	Interrupted bool
	After       []string
	Commands    []Command
}

// Command is what a reader types, without the prompt, and what it prints.
type Command struct {
	Typed  string
	Output []string
}

// Console returns what a block of the language console shows.
func (f Fence) Console() (Console, error) {
	s, err := parseConsole(block{line: f.Line, info: info{f.Language, f.Attributes}, text: f.Text})
	if err != nil {
		return Console{}, fmt.Errorf("line %d: %w", f.Line, err)
	}
	shown := Console{Before: s.more, Interrupted: s.interrupted, After: s.after}
	for _, c := range s.commands {
		shown.Commands = append(shown.Commands, Command{Typed: c.text, Output: c.output})
	}
	return shown, nil
}

// FirstLine returns the line, from 1, at which an excerpt begins in its file: where most of its lines follow each other, whatever their
// indentation. It is 0 for text that is not in the file.
func (f Fence) FirstLine(content string) int {
	shown, lines := trimmedLines(f.Text), trimmedLines(content)
	first, longest := 0, 0
	for at := range lines {
		length := 0
		for length < len(shown) && at+length < len(lines) && shown[length] == lines[at+length] {
			length++
		}
		if length > longest {
			first, longest = at+1, length
		}
	}
	return first
}

func trimmedLines(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// AnchorsOf returns the names that a link to a page may end with.
func AnchorsOf(source []byte) Anchors { return parsePage("", source).anchors }

// RepositoryFiles returns all files of the repository: those that git knows or would add.
func RepositoryFiles(root string) ([]string, error) {
	return repositoryFiles(filepath.FromSlash(root))
}
