// Command statements counts the statements of Go packages, outside tests and
// generated code: make statements.
//
// A statement is what go/ast calls one, without blocks, cases and empty
// statements, which only hold or separate others. Comments, types and
// declarations outside functions don't count.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	root := flag.String("C", ".", "the root of the repository")
	flag.Parse()
	if err := run(os.DirFS(*root), flag.Args(), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "statements: %v\n", err)
		os.Exit(1)
	}
}

// run prints a table of the packages below the directories to w.
func run(root fs.FS, directories []string, w io.Writer) error {
	counts, total := map[string]int{}, 0
	for _, directory := range directories {
		err := fs.WalkDir(root, directory, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "testdata":
				return fs.SkipDir
			case entry.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			source, err := fs.ReadFile(root, file)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if !ast.IsGenerated(parsed) {
				counts[path.Dir(file)] += statements(parsed)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, directory := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%6d  %s\n", counts[directory], directory)
		total += counts[directory]
	}
	fmt.Fprintf(w, "%6d  in all\n", total)
	return nil
}

// statements returns how many statements the file has.
func statements(file *ast.File) int {
	count := 0
	ast.Inspect(file, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.EmptyStmt:
		case ast.Stmt:
			count++
		}
		return true
	})
	return count
}
