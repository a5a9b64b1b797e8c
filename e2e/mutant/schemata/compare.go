package schemata

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// difference is how a mutant's version of a file differs from the healthy one.
type difference struct {
	bodies  map[*ast.FuncDecl]string // by the healthy function
	imports []string
}

// compare finds how a version differs, or why it does not fit.
func compare(healthy *file, v Version) (*difference, error) {
	mutated, err := parse(v.Text)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(healthy.effects(), mutated.effects()) {
		return nil, errors.New("it changes the package's name, a directive of the compiler's, or an import that is more than a name")
	}
	found := &difference{bodies: map[*ast.FuncDecl]string{}}
	imported := map[string]bool{}
	for _, spec := range healthy.syntax.Imports {
		imported[healthy.source(spec)] = true
	}
	for _, spec := range mutated.syntax.Imports {
		if text := mutated.source(spec); !imported[text] {
			found.imports = append(found.imports, text)
		}
	}
	before, after := byName(healthy), byName(mutated)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			return nil, fmt.Errorf("it changes or removes %s", firstLine(name))
		}
		was, isFunction := before[name].(*ast.FuncDecl)
		if !isFunction || healthy.source(was) == mutated.source(after[name]) {
			continue
		}
		is := after[name].(*ast.FuncDecl)
		if signature(healthy, was) != signature(mutated, is) {
			return nil, fmt.Errorf("it changes the signature of %s", was.Name.Name)
		}
		found.bodies[was] = mutated.source(is.Body)
		if redeclaresResult(is) { // and has to be at the top of a function with these results
			found.bodies[was] = "{ return func() " + mutated.source(is.Type.Results) + " " + found.bodies[was] + "() }"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] == nil {
			return nil, fmt.Errorf("it adds %s", firstLine(name))
		}
	}
	return found, nil
}

// effects are the package's name, comments that direct the compiler, and imports with effects on more than the code that names them.
func (f *file) effects() []string {
	found := []string{f.syntax.Name.Name}
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:") {
				found = append(found, comment.Text)
			}
		}
	}
	for _, spec := range f.syntax.Imports {
		if spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == ".") {
			found = append(found, f.source(spec))
		}
	}
	return found
}

// byName returns the declarations except imports. A function's key is its name, which only init can have twice; the key of anything
// else is its text, so that a changed one is another one.
func byName(f *file) map[string]ast.Decl {
	declarations := map[string]ast.Decl{}
	for _, declaration := range f.syntax.Decls {
		name := f.source(declaration)
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			switch {
			case d.Recv != nil:
				receiver, _, _ := strings.Cut(types.ExprString(d.Recv.List[0].Type), "[")
				name = "the method " + strings.Trim(receiver, "(*)") + "." + d.Name.Name
			case d.Name.Name != "init":
				name = "the function " + d.Name.Name
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		}
		declarations[name] = declaration
	}
	return declarations
}

// signature is a function's text up to its body.
func signature(f *file, function *ast.FuncDecl) string {
	if function.Body == nil {
		return f.source(function)
	}
	return string(f.text[f.offset(function.Pos()):f.offset(function.Body.Pos())])
}

// redeclaresResult reports whether a named result is on the left of a := at the top of a function, where it is the result itself. In a
// block within the function, it would be another variable.
func redeclaresResult(function *ast.FuncDecl) bool {
	if function.Type.Results == nil {
		return false
	}
	return slices.ContainsFunc(function.Body.List, func(statement ast.Stmt) bool {
		assign, is := statement.(*ast.AssignStmt)
		return is && assign.Tok == token.DEFINE && slices.ContainsFunc(assign.Lhs, func(left ast.Expr) bool {
			return slices.ContainsFunc(function.Type.Results.List, func(result *ast.Field) bool {
				return slices.ContainsFunc(result.Names, func(name *ast.Ident) bool { return name.Name == types.ExprString(left) })
			})
		})
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
