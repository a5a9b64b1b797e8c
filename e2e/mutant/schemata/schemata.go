// Package schemata puts many mutants of a file into one file that compiles, so that one executable is the healthy program and all
// of its mutants: "mutant schemata". Which of them it is, an environment variable says when it starts.
//
// A function that mutants change begins with a switch that calls the active mutant's version of it, a function beside it. What
// mutants add to a file gets names of their own. Everything else of the file is the healthy text, line by line, with its comments
// and directives. A mutant that changes more than the bodies of functions does not fit: see [Fit].
package schemata

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// Fit returns why a mutant can't share an executable with others, or nil. It can where the bodies of functions are all that
// differs, and functions, types and imports are all that it adds.
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
	var edits []edit
	var imports, siblings strings.Builder
	cases := map[*ast.FuncDecl]string{}
	for _, v := range versions {
		fault, err := compare(healthy, v)
		if err != nil {
			return nil, "", fmt.Errorf("the mutant %s: %w", v.Mutant, err)
		}
		for _, spec := range fault.imports {
			fmt.Fprintf(&imports, "; import %s %s", fault.own(localName(spec)), spec.Path.Value)
		}
		for _, f := range fault.functions {
			cases[f.healthy] += fmt.Sprintf("case %q: %s; ", v.Mutant, call(f.healthy, fault.own(f.healthy.Name.Name)))
			fmt.Fprintf(&siblings, "\n%s\n", fault.sibling(f.mutated))
		}
		for _, declaration := range fault.added {
			fmt.Fprintf(&siblings, "\n%s\n", fault.renamed(declaration))
		}
	}
	for function, calls := range cases {
		edits = append(edits, nameParameters(healthy, function)...)
		edits = append(edits, edit{at: healthy.offset(function.Body.Lbrace + 1), with: " switch " + active + " { " + calls + "}; "})
	}
	// On the line of the package's name, so that all others keep their numbers.
	edits = append(edits, edit{at: healthy.offset(healthy.syntax.Name.End()), with: imports.String()})
	return append(spliced(text, 0, edits), siblings.String()...), healthy.syntax.Name.Name, nil
}

// file is a file's text and what it means.
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

// edit puts a text in place of so many bytes.
type edit struct {
	at, instead int
	with        string
}

// spliced is the text after the edits, whose places count from the offset that the text begins at.
func spliced(text []byte, begin int, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var result []byte
	done := 0
	for _, e := range edits {
		result = append(append(result, text[done:e.at-begin]...), e.with...)
		done = e.at - begin + e.instead
	}
	return append(result, text[done:]...)
}

// call is the statement that has the function's mutated version do its work.
func call(function *ast.FuncDecl, sibling string) string {
	if function.Recv != nil {
		sibling = receiver(function) + "." + sibling
	}
	if function.Type.TypeParams != nil {
		var types []string
		for _, field := range function.Type.TypeParams.List {
			for _, name := range field.Names {
				types = append(types, name.Name)
			}
		}
		sibling += "[" + strings.Join(types, ", ") + "]"
	}
	var arguments []string
	eachParameter(function, func(field *ast.Field, name string, _ *ast.Ident) {
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			name += "..."
		}
		arguments = append(arguments, name)
	})
	called := sibling + "(" + strings.Join(arguments, ", ") + ")"
	if function.Type.Results == nil {
		return called + "; return"
	}
	return "return " + called
}

// nameParameters gives a name to the receiver and to each parameter that has none, or a call could not pass them on.
func nameParameters(f *file, function *ast.FuncDecl) []edit {
	var edits []edit
	name := func(field *ast.Field, name string, is *ast.Ident) {
		switch {
		case is == nil:
			edits = append(edits, edit{at: f.offset(field.Type.Pos()), with: name + " "})
		case is.Name != name:
			edits = append(edits, edit{at: f.offset(is.Pos()), instead: len(is.Name), with: name})
		}
	}
	if function.Recv != nil {
		field := function.Recv.List[0]
		var is *ast.Ident
		if len(field.Names) > 0 {
			is = field.Names[0]
		}
		name(field, receiver(function), is)
	}
	eachParameter(function, name)
	return edits
}

// receiver is what a method's receiver is called, or will be if it has no name.
func receiver(function *ast.FuncDecl) string {
	field := function.Recv.List[0]
	if len(field.Names) == 0 || field.Names[0].Name == "_" {
		return "mutantReceiver"
	}
	return field.Names[0].Name
}

// eachParameter goes through a function's parameters with what each is called, or will be, and its name as it stands there.
func eachParameter(function *ast.FuncDecl, do func(field *ast.Field, name string, is *ast.Ident)) {
	count := 0
	for _, field := range function.Type.Params.List {
		for i := range max(len(field.Names), 1) {
			count++
			var is *ast.Ident
			name := fmt.Sprintf("mutantArgument%d", count)
			if len(field.Names) > 0 {
				is = field.Names[i]
				if is.Name != "_" {
					name = is.Name
				}
			}
			do(field, name, is)
		}
	}
}
