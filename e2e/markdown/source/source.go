// Package source finds pieces of Go source, such as those that a page shows or a hint gives away.
package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/lithammer/dedent"
)

// Declarations returns the source of declarations of a Go file, with their comments and a line between them. A method is
// TYPE.NAME, and so is a field of a struct.
func Declarations(file, content string, names []string) (string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, content, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, name := range names {
		node, doc := Declaration(parsed, name)
		if node == nil {
			return "", fmt.Errorf("it declares no %s", name)
		}
		begin := node.Pos()
		if doc != nil {
			begin = doc.Pos()
		}
		from, to := files.Position(begin).Line, files.Position(node.End()).Line
		parts = append(parts, Dedent(strings.Join(strings.SplitAfter(content, "\n")[from-1:to], "")))
	}
	return strings.Join(parts, "\n"), nil
}

// Declaration returns a declaration, and the comment above it; nil if there is none of that name.
func Declaration(file *ast.File, name string) (found ast.Node, doc *ast.CommentGroup) {
	is := func(declared string, node ast.Node, above *ast.CommentGroup) {
		if declared == name {
			found, doc = node, above
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			is(receiver(d)+d.Name.Name, d, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					is(spec.Name.Name, d, d.Doc)
					if of, isStruct := spec.Type.(*ast.StructType); isStruct {
						for _, field := range of.Fields.List {
							for _, n := range field.Names {
								is(spec.Name.Name+"."+n.Name, field, field.Doc)
							}
						}
					}
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						is(n.Name, d, d.Doc)
					}
				}
			}
		}
	}
	return found, doc
}

// receiver is the name of the type that a method belongs to, with a dot behind it; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	name, _, _ := strings.Cut(types.ExprString(f.Recv.List[0].Type), "[")
	return strings.TrimPrefix(name, "*") + "."
}

// Dedent removes the indentation that all lines share, and gives the text exactly one newline at its end.
func Dedent(content string) string {
	return strings.TrimRight(dedent.Dedent(content), "\n") + "\n"
}
