package tutorial_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// goExcerpt matches the path of an excerpt of Go code, and the code.
	goExcerpt = regexp.MustCompile("(?ms)^```go file=(\\S+)[^\n]*\n(.*?\n)```$")
	// code matches what a page sets as code within a sentence.
	code = regexp.MustCompile("`[^`\n]+`")
	// identifier matches a Go identifier.
	identifier = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
)

// declaredIn returns the names of the functions and methods that the package in a directory declares, without its tests.
func declaredIn(t *testing.T, directory string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				names[function.Name.Name] = true
			}
		}
	}
	return names
}

// calledIn returns the names of the functions and methods that an excerpt calls or passes on, and of those that it declares. A name
// that belongs to another package does not count.
func calledIn(excerpt string) (called, declares map[string]bool) {
	called, declares = map[string]bool{}, map[string]bool{}
	file, err := parser.ParseFile(token.NewFileSet(), "excerpt.go", "package x\n"+excerpt, parser.SkipObjectResolution)
	if err != nil { // a part of a declaration
		for _, name := range identifier.FindAllString(excerpt, -1) {
			called[name] = true
		}
		return called, declares
	}
	receivers := map[string]bool{}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		declares[function.Name.Name] = true
		if function.Recv != nil && len(function.Recv.List[0].Names) == 1 {
			receivers[function.Recv.List[0].Names[0].Name] = true
		}
	}
	local := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Field:
			for _, name := range node.Names {
				local[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, left := range node.Lhs {
				if name, ok := left.(*ast.Ident); ok && node.Tok == token.DEFINE {
					local[name.Name] = true
				}
			}
		}
		return true
	})
	// used notes the function that an expression is, if it is one of the package.
	used := func(expression ast.Expr) {
		switch expression := expression.(type) {
		case *ast.Ident:
			if !local[expression.Name] {
				called[expression.Name] = true
			}
		case *ast.SelectorExpr:
			if of, ok := expression.X.(*ast.Ident); ok && receivers[of.Name] {
				called[expression.Sel.Name] = true
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			used(node.Fun)
			for _, argument := range node.Args {
				used(argument)
			}
		case *ast.KeyValueExpr:
			used(node.Value)
		}
		return true
	})
	return called, declares
}

// unexplained returns the functions of its own package that an excerpt of the page uses, and that the page neither shows nor names in
// a sentence, each with the file of the excerpt.
func unexplained(page string, declared func(directory string) map[string]bool) []string {
	known := map[string]bool{}
	for _, span := range code.FindAllString(block.ReplaceAllString(page, ""), -1) {
		for _, name := range identifier.FindAllString(span, -1) {
			known[name] = true
		}
	}
	excerpts := goExcerpt.FindAllStringSubmatch(page, -1)
	for _, excerpt := range excerpts {
		_, declares := calledIn(excerpt[2])
		maps.Copy(known, declares)
	}
	var missing []string
	for _, excerpt := range excerpts {
		functions := declared(filepath.Dir(excerpt[1]))
		called, _ := calledIn(excerpt[2])
		for _, name := range slices.Sorted(maps.Keys(called)) {
			if functions[name] && !known[name] {
				missing = append(missing, excerpt[1]+": "+name)
			}
		}
	}
	return missing
}

// A reader of a chapter can follow every excerpt without opening its file: the page shows each function that the excerpt uses, or names
// it and says what it returns.
func TestExcerptsAreExplained(t *testing.T) {
	for name := range chapters(t) {
		page := read(t, name+"/README.md")
		for _, sentence := range unexplained(page, func(directory string) map[string]bool { return declaredIn(t, filepath.Join("..", directory)) }) {
			t.Errorf("%s/README.md neither shows nor names a function that an excerpt uses: %s", name, sentence)
		}
	}
}

func TestUnexplained(t *testing.T) {
	declared := func(string) map[string]bool {
		return map[string]bool{"shown": true, "named": true, "first": true, "second": true, "Join": true, "local": true, "err": true}
	}
	const fence = "```"
	page := "`named(x)` returns y. A word: second.\n\n" +
		fence + "go file=a/b.go decl=shown\nfunc (r *R) shown(local int) { r.first(errors.Join()); err := named(second, local, err) }\n" + fence + "\n"
	if got, want := unexplained(page, declared), []string{"a/b.go: first", "a/b.go: second"}; !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
}
