package site

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown"
)

// attribute is one that a layout reads.
type attribute struct{ key, value string }

// fenced writes a fenced block with the attributes that have a value.
func fenced(language string, attributes []attribute, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	var set []string
	for _, a := range attributes {
		if a.value != "" {
			set = append(set, fmt.Sprintf("%s=%q", a.key, a.value))
		}
	}
	opening := marks + language
	if len(set) > 0 {
		opening += " {" + strings.Join(set, " ") + "}"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return opening + "\n" + text + marks + "\n"
}

// block returns what the site shows for a block of a page.
func (g *generator) block(f markdown.Fence) (string, error) {
	of := func(key string) attribute { return attribute{key, f.Attributes[key]} }
	switch file := f.Attributes["file"]; {
	case f.Language == "console":
		return console(f)
	case f.Language == "mermaid":
		return fenced("mermaid", nil, f.Text), nil
	case file != "":
		content, err := g.read(file)
		if err != nil {
			return "", fmt.Errorf("line %d: %w", f.Line, err)
		}
		attributes := []attribute{of("file"), {"line", ""}, {"broken", ""}}
		if line := f.FirstLine(string(content)); line > 0 {
			attributes[1].value = strconv.Itoa(line)
		}
		if _, broken := f.Attributes["broken"]; broken {
			attributes[2].value = "true"
		}
		return fenced(f.Language, attributes, f.Text), nil
	case f.Language == "diff":
		return fenced("diff", []attribute{of("from"), of("to")}, f.Text), nil
	default:
		return fenced(f.Language, []attribute{of("source")}, f.Text), nil
	}
}

// console returns the blocks for what a reader types, and for what that prints: commands that print nothing share one with those after
// them, so that they can be copied together.
func console(f markdown.Fence) (string, error) {
	c, err := f.Console()
	if err != nil {
		return "", err
	}
	where := []attribute{{"terminal", f.Attributes["terminal"]}, {"needs", f.Attributes["needs"]}}
	var blocks []string
	output := func(lines []string, attributes ...attribute) {
		if len(lines) > 0 {
			blocks = append(blocks, fenced("output", attributes, strings.Join(lines, "\n")+"\n"))
		}
	}
	output(c.Before, where[0])
	if c.Interrupted {
		blocks = append(blocks, fenced("command", append([]attribute{{"key", "Ctrl-C"}}, where...), "Ctrl-C\n"))
		output(c.After)
	}
	typed := ""
	for i, command := range c.Commands {
		typed += command.Typed + "\n"
		last := i == len(c.Commands)-1
		if len(command.Output) == 0 && !last {
			continue
		}
		attributes := where
		if last {
			attributes = append(attributes, attribute{"exit", f.Attributes["exit"]}, attribute{"skip", f.Attributes["skip"]})
			if _, background := f.Attributes["background"]; background {
				attributes = append(attributes, attribute{"background", "true"})
			}
		}
		blocks = append(blocks, fenced("command", attributes, typed))
		output(command.Output)
		typed = ""
	}
	return strings.Join(blocks, "\n"), nil
}
