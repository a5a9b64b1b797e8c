package prose

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// declarations is the source of declarations of a Go file, with their comments and a line between them. A method is
// TYPE.NAME, and so is a field of a struct.
func declarations(file, content string, names []string) (string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, content, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, name := range names {
		node, doc := declaration(parsed, name)
		if node == nil {
			return "", fmt.Errorf("it declares no %s", name)
		}
		begin := node.Pos()
		if doc != nil {
			begin = doc.Pos()
		}
		from, to := files.Position(begin).Line, files.Position(node.End()).Line
		parts = append(parts, dedent(strings.Join(strings.SplitAfter(content, "\n")[from-1:to], "")))
	}
	return strings.Join(parts, "\n"), nil
}

// declaration finds a declaration, and the comment above it.
func declaration(file *ast.File, name string) (ast.Node, *ast.CommentGroup) {
	owner, member, isMember := strings.Cut(name, ".")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if (!isMember && d.Recv == nil && d.Name.Name == name) || (isMember && d.Recv != nil && receiver(d) == owner && d.Name.Name == member) {
				return d, d.Doc
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name != owner {
						continue
					}
					if !isMember {
						return d, d.Doc
					}
					if field, doc := structField(spec, member); field != nil {
						return field, doc
					}
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						if n.Name == name {
							return d, d.Doc
						}
					}
				}
			}
		}
	}
	return nil, nil
}

// receiver is the name of the type that a method belongs to.
func receiver(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	if pointer, is := of.(*ast.StarExpr); is {
		of = pointer.X
	}
	if generic, is := of.(*ast.IndexExpr); is {
		of = generic.X
	}
	if name, is := of.(*ast.Ident); is {
		return name.Name
	}
	return ""
}

func structField(spec *ast.TypeSpec, name string) (ast.Node, *ast.CommentGroup) {
	if of, is := spec.Type.(*ast.StructType); is {
		for _, field := range of.Fields.List {
			for _, n := range field.Names {
				if n.Name == name {
					return field, field.Doc
				}
			}
		}
	}
	return nil, nil
}
