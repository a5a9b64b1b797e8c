package schemata

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fault is how a mutant's version of a file differs from the healthy one.
type fault struct {
	mutant    string
	file      *file
	functions []changed
	added     []ast.Decl
	imports   []*ast.ImportSpec
	names     map[string]bool // what it adds
}

// changed is a function whose body the mutant changes.
type changed struct{ healthy, mutated *ast.FuncDecl }

// compare finds how a version differs, or why it does not fit.
func compare(healthy *file, v Version) (*fault, error) {
	mutated, err := parse(v.Text)
	if err != nil {
		return nil, err
	}
	result := &fault{mutant: v.Mutant, file: mutated, names: map[string]bool{}}
	if healthy.syntax.Name.Name != mutated.syntax.Name.Name || !slices.Equal(directives(healthy), directives(mutated)) {
		return nil, errors.New("it changes the package's name or a directive of the compiler's")
	}
	if err := result.compareImports(healthy); err != nil {
		return nil, err
	}
	before, after := byName(healthy), byName(mutated)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		declaration := before[name]
		if after[name] == nil {
			return nil, fmt.Errorf("it changes or removes %s", firstLine(name))
		}
		if err := result.compareFunction(healthy, declaration, after[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != nil {
			continue
		}
		if err := result.add(after[name]); err != nil {
			return nil, err
		}
	}
	for _, declaration := range result.added {
		if method, ok := declaration.(*ast.FuncDecl); ok && method.Recv != nil && !result.names[receiverType(method)] {
			return nil, fmt.Errorf("it adds the method %s to a type that the healthy operator has", method.Name.Name)
		}
	}
	// In the order of the text, for the same text each time.
	slices.SortFunc(result.functions, func(a, b changed) int { return int(a.mutated.Pos() - b.mutated.Pos()) })
	slices.SortFunc(result.added, func(a, b ast.Decl) int { return int(a.Pos() - b.Pos()) })
	return result, nil
}

// directives are the comments that tell the compiler something.
func directives(f *file) []string {
	var found []string
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:") {
				found = append(found, comment.Text)
			}
		}
	}
	return found
}

// byName returns the declarations but for imports. A function goes by its name, which may come again only for init; anything else
// by its text, so that a changed one is another one.
func byName(f *file) map[string]ast.Decl {
	declarations := map[string]ast.Decl{}
	for _, declaration := range f.syntax.Decls {
		name := ""
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name = "the function " + d.Name.Name
			switch {
			case d.Recv != nil:
				name = "the method " + receiverType(d) + "." + d.Name.Name
			case d.Name.Name == "init":
				name = f.source(d)
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			name = f.source(d)
		}
		declarations[name] = declaration
	}
	return declarations
}

// receiverType is the name of the type that a method is of.
func receiverType(method *ast.FuncDecl) string {
	name, _, _ := strings.Cut(types.ExprString(method.Recv.List[0].Type), "[")
	return strings.Trim(name, "(*)")
}

// compareFunction notes a function whose body differs.
func (f *fault) compareFunction(healthy *file, before, after ast.Decl) error {
	was, ok := before.(*ast.FuncDecl)
	if !ok {
		return nil // the same text
	}
	is := after.(*ast.FuncDecl)
	if signature(healthy, was) != signature(f.file, is) {
		return fmt.Errorf("it changes the signature of %s", was.Name.Name)
	}
	if was.Body == nil || is.Body == nil || healthy.source(was.Body) == f.file.source(is.Body) {
		return nil
	}
	// Recover sees a panic only in the very function that was deferred.
	if uses(was.Body, "recover") || uses(is.Body, "recover") {
		return fmt.Errorf("%s recovers from panics, and would not when it is called by another function", was.Name.Name)
	}
	f.functions = append(f.functions, changed{was, is})
	return nil
}

// signature is a function's text up to its body.
func signature(f *file, function *ast.FuncDecl) string {
	if function.Body == nil {
		return f.source(function)
	}
	return string(f.text[f.offset(function.Pos()):f.offset(function.Body.Pos())])
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func uses(node ast.Node, name string) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		identifier, ok := n.(*ast.Ident)
		found = found || ok && identifier.Name == name
		return !found
	})
	return found
}

// compareImports notes the imports that the mutant adds.
func (f *fault) compareImports(healthy *file) error {
	before, after := map[string]string{}, map[string]string{} // paths by local name
	for _, spec := range healthy.syntax.Imports {
		before[localName(spec)] += spec.Path.Value
	}
	for _, spec := range f.file.syntax.Imports {
		name := localName(spec)
		after[name] += spec.Path.Value
		if _, taken := before[name]; !taken {
			f.imports = append(f.imports, spec)
			f.names[name] = true
		}
	}
	for name, paths := range after {
		_, there := before[name]
		if there && paths != before[name] || !there && (name == "_" || name == ".") {
			return fmt.Errorf("what it imports as %s concerns more than the functions it changes", name)
		}
	}
	if before["_"] != after["_"] {
		return errors.New("it does not import what the healthy file imports for its effects")
	}
	return nil
}

// majorVersion is what ends an import path, or a part of it, besides the package's name.
var majorVersion = regexp.MustCompile(`^v[0-9]+$|\.v[0-9]+$`)

// localName is what a file calls a package that it imports. Of one whose name differs from its path, it is not: what comes of that
// does not compile.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	if majorVersion.MatchString(path.Base(imported)) && strings.HasPrefix(path.Base(imported), "v") {
		imported = path.Dir(imported)
	}
	return majorVersion.ReplaceAllString(path.Base(imported), "")
}

// add notes a declaration that the healthy file does not have.
func (f *fault) add(declaration ast.Decl) error {
	var names []*ast.Ident
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		if isUse(d) {
			return nil // only there for the compiler, which does not miss it where the healthy code still is
		}
		for _, spec := range d.Specs {
			s, ok := spec.(*ast.TypeSpec)
			if !ok {
				return fmt.Errorf("it changes or adds a value: %s", f.file.source(spec))
			}
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		if name.Name == "init" || types.Universe.Lookup(name.Name) != nil {
			return fmt.Errorf("what it adds as %s concerns more than the functions it changes", name.Name)
		}
		f.names[name.Name] = true
	}
	f.added = append(f.added, declaration)
	return nil
}

// isUse reports whether a declaration is `var _ = name`.
func isUse(d *ast.GenDecl) bool {
	if d.Tok != token.VAR || len(d.Specs) != 1 {
		return false
	}
	s := d.Specs[0].(*ast.ValueSpec)
	if len(s.Names) != 1 || s.Names[0].Name != "_" || len(s.Values) != 1 {
		return false
	}
	_, plain := s.Values[0].(*ast.Ident)
	return plain
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9]`)

// own is what a name of the mutant's is called where all mutants are together.
func (f *fault) own(name string) string {
	return "mutant_" + notInNames.ReplaceAllString(f.mutant, "_") + "_" + name
}

// renamed is the text of a node in which everything that the mutant adds has its own name.
func (f *fault) renamed(node ast.Node) string {
	return string(spliced([]byte(f.file.source(node)), f.file.offset(node.Pos()), f.renames(node)))
}

// sibling is the text of a function that the mutant changes, by another name.
func (f *fault) sibling(function *ast.FuncDecl) string {
	edits := append(f.renames(function), edit{at: f.file.offset(function.Name.Pos()), instead: len(function.Name.Name), with: f.own(function.Name.Name)})
	return string(spliced([]byte(f.file.source(function)), f.file.offset(function.Pos()), edits))
}

// renames gives what the mutant adds its own name. Where something else is called so, it is called so everywhere, or what comes of
// it does not compile.
func (f *fault) renames(node ast.Node) []edit {
	var edits []edit
	members := map[*ast.Ident]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			members[n.Sel] = true
		case *ast.FuncDecl:
			members[n.Name] = n.Recv != nil
		case *ast.Ident:
			if f.names[n.Name] && !members[n] {
				edits = append(edits, edit{at: f.file.offset(n.Pos()), instead: len(n.Name), with: f.own(n.Name)})
			}
		}
		return true
	})
	return edits
}
