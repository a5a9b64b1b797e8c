// Package schemata puts many mutants of a file into one file that compiles, so that one executable is the healthy program and all
// of its mutants: "mutant schemata". An environment variable chooses one of them when it starts.
//
// A function that mutants change starts with a switch that runs the active mutant's body instead of the healthy one. Everything else of
// the file is the healthy text, with its comments, directives and line numbers. A mutant that changes more than the bodies of functions
// does not fit: see [Fit].
package schemata

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// Variable is the environment variable that names the active mutant. Without it, none is.
const Variable = "TESTBED_MUTANT"

// active is the package-level variable that holds its value.
const active = "mutantActive"

// Version is a file as a mutant has it.
type Version struct {
	Mutant string
	Text   []byte
}

// Selector returns the file that every package with combined files needs besides.
func Selector(packageName string) []byte {
	return fmt.Appendf(nil, "package %s\n\nimport \"os\"\n\nvar %s = os.Getenv(%q)\n", packageName, active, Variable)
}

// Fit returns why a mutant can't share an executable with others, or nil. It can if the bodies of functions are all that differs, and
// imports all that it adds.
func Fit(text []byte, v Version) error {
	healthy, err := parse(text)
	if err != nil {
		return err
	}
	_, err = compare(healthy, v)
	return err
}

// Combine returns the text of a file that is the healthy one, and each of the versions when that mutant is active. It also returns
// the name of the file's package, which needs a [Selector].
func Combine(text []byte, versions []Version) (combined []byte, packageName string, err error) {
	healthy, err := parse(text)
	if err != nil {
		return nil, "", err
	}
	imports := ""
	cases := map[*ast.FuncDecl]string{}
	for _, v := range versions {
		found, err := compare(healthy, v)
		if err != nil {
			return nil, "", fmt.Errorf("the mutant %s: %w", v.Mutant, err)
		}
		for _, spec := range found.imports {
			if spec = "; import " + spec; !strings.Contains(imports+";", spec+";") {
				imports += spec
			}
		}
		for function, body := range found.bodies {
			if function.Type.Results == nil {
				body += "; return"
			}
			cases[function] += fmt.Sprintf("\ncase %q: %s", v.Mutant, body)
		}
	}
	inserted := map[token.Pos]string{healthy.syntax.Name.End(): imports} // on that line, so that all others keep their numbers
	for function, bodies := range cases {
		start := function.Body.Lbrace + 1
		at := healthy.set.Position(start)
		inserted[start] = fmt.Sprintf(" switch %s {%s\n}; /*line :%d:%d*/", active, bodies, at.Line, at.Column)
	}
	done := 0
	for _, at := range slices.Sorted(maps.Keys(inserted)) {
		combined = append(append(combined, text[done:healthy.offset(at)]...), inserted[at]...)
		done = healthy.offset(at)
	}
	return append(combined, text[done:]...), healthy.syntax.Name.Name, nil
}

// file is a file's text and its syntax.
type file struct {
	text   []byte
	set    *token.FileSet
	syntax *ast.File
}

func parse(text []byte) (*file, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	return &file{text, set, syntax}, err
}

func (f *file) offset(p token.Pos) int { return f.set.Position(p).Offset }

// source is the text of a node, without the comment above it.
func (f *file) source(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}
