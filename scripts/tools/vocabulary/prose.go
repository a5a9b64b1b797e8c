package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	// quoted is what is not prose in a comment or a message: quotations, links to identifiers, flags, variables, and paths.
	quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|\\[[\\w.*]+\\]|\\B--?[a-z][\\w-]*|\\b[A-Z_]+=\\S*|[\\w.-]*[/.][\\w/.-]*\\w")
	// notMarkdownProse is what is not prose on a page: generated tables, comments, blocks, code, the targets of links, and quotations.
	notMarkdownProse = regexp.MustCompile("(?s)<!-- The (?:table|matrix) .*?<!-- The end of the (?:table|matrix)\\. -->|<!--.*?-->|```.*?```|`[^`\n]*`|\\]\\([^)]*\\)|\"[^\"\n]*\"")
	// data is a line of a raw string that holds YAML or JSON, a patch, or Go.
	data = regexp.MustCompile(`(?m)^\s*(- )?[\w"./-]+:(\s|$)|^\s*[{[]|^(diff|---|\+\+\+|@@|package) `)
	// directive is a line of a comment for a program, or with code.
	directive = regexp.MustCompile(`^//(\w+:|line |export | ?\+\w|\t|   )`)
	// testName is a function that the documentation, the mutants and the labs quote.
	testName = regexp.MustCompile(`^(Test|Benchmark|Example|Fuzz)`)
	// wordsInName are the words of an identifier.
	wordsInName = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|\d+`)
	// script is the first line of a shell script.
	script = regexp.MustCompile(`^#!.*\b(ba)?sh\b`)
	// comment is a comment of a shell script or a Makefile.
	comment = regexp.MustCompile(`(?:^|\s)#+@?(?:\s+(.*))?$`)
)

// blank replaces what the pattern matches by something that no phrase goes across, on as many lines.
func blank(text string, pattern *regexp.Regexp) string {
	return pattern.ReplaceAllStringFunc(text, func(s string) string { return "·" + strings.Repeat("\n", strings.Count(s, "\n")) })
}

// markdownPassages returns the prose of a page.
func markdownPassages(source []byte) []passage {
	return []passage{{1, blank(string(source), notMarkdownProse)}}
}

// commentPassages returns the comments of a shell script or a Makefile. Those on consecutive lines are one.
func commentPassages(source []byte) []passage {
	var passages []passage
	commented := false
	for i, line := range strings.Split(string(source), "\n") {
		found := comment.FindStringSubmatch(line)
		switch {
		case found == nil || strings.HasPrefix(line, "#!"):
			commented = false
			continue
		case commented:
			passages[len(passages)-1].text += "\n" + found[1]
		default:
			passages = append(passages, passage{i + 1, found[1]})
		}
		commented = true
	}
	for i := range passages {
		passages[i].text = blank(passages[i].text, quoted)
	}
	return passages
}

// goPassages returns the comments, messages and declared names of a Go file, and nothing of a generated one.
func goPassages(name string, source []byte) ([]passage, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var passages []passage
	add := func(at token.Pos, text string) { passages = append(passages, passage{files.Position(at).Line, text}) }
	declare := func(names ...ast.Expr) {
		for _, name := range names {
			if ident, ok := name.(*ast.Ident); ok {
				add(ident.Pos(), wordsOf(ident.Name))
			}
		}
	}
	for _, group := range file.Comments {
		lines := strings.Split(string(source[files.Position(group.Pos()).Offset:files.Position(group.End()).Offset]), "\n")
		for i, line := range lines {
			lines[i] = proseOf(line)
		}
		add(group.Pos(), blank(strings.Join(lines, "\n"), quoted))
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if node.Kind == token.STRING {
				add(node.Pos(), messageOf(node.Value))
			}
		case *ast.FuncDecl:
			if !testName.MatchString(node.Name.Name) {
				declare(node.Name)
			}
		case *ast.TypeSpec:
			declare(node.Name)
		case *ast.Field:
			for _, name := range node.Names {
				declare(name)
			}
			node.Tag = nil // no message
		case *ast.ValueSpec:
			for _, name := range node.Names {
				declare(name)
			}
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				declare(node.Lhs...)
			}
		case *ast.RangeStmt:
			if node.Tok == token.DEFINE {
				declare(node.Key, node.Value)
			}
		}
		return true
	})
	return passages, nil
}

// proseOf returns the prose in a line of a comment: nothing if the line is a block of code, or a directive.
func proseOf(line string) string {
	text := strings.TrimSpace(line)
	if directive.MatchString(text) {
		return ""
	}
	return strings.Trim(text, "/* ")
}

// messageOf returns the prose in a string literal: nothing if it is a single word, which is a name, or data.
func messageOf(literal string) string {
	text, err := strconv.Unquote(literal)
	switch {
	case err != nil || !strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace):
		return ""
	case literal[0] == '"':
		text = strings.ReplaceAll(text, "\n", " ") // all on the line where the literal is
	case data.MatchString(text):
		return ""
	}
	return blank(text, quoted)
}

// wordsOf splits an identifier into its words.
func wordsOf(name string) string {
	return strings.Join(wordsInName.FindAllString(name, -1), " ")
}
