// Package tree says which test belongs to which tier, from the code of all modules of the repository. What it finds chooses the tests
// that a target of the Makefile runs, and makes the table of tests in the documentation.
//
// It needs only the standard library, as package summary does.
package tree

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Test is a test function.
type Test struct {
	// Module and Dir are the directories of its module and its package, relative to the repository's root.
	Module, Dir string
	Name        string
	// Tier is the tier that it belongs to: a value of TESTBED_TIER.
	Tier string
	// Suite reports whether its package is a suite, which runs on any cluster.
	Suite bool
}

func (t Test) String() string { return t.Dir + " " + t.Name }

// marks are the functions of package tier that mark a test.
var marks = map[string]string{"All": "all", "E2E": "e2e", "Nightly": "nightly"}

const (
	tierPackage      = "github.com/example/operator-testbed/e2e/tier"
	frameworkPackage = "github.com/example/operator-testbed/e2e/framework"
)

// Read returns the tests of all modules of the repository in a directory, for all platforms, sorted by package and name. It is an error if
// a mark stands anywhere but at the start of a test, because what it marks would not be known without running it.
func Read(root string) ([]Test, error) {
	var tests []Test
	modules := []string{"."}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if relative != "." && ignored(relative) {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && relative != "." {
				modules = append(modules, relative)
			}
			return nil
		}
		if !strings.HasSuffix(relative, "_test.go") {
			return nil
		}
		found, err := parse(file, relative)
		tests = append(tests, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the tests below %s: %w", root, err)
	}
	suites := map[string]bool{}
	for _, t := range tests {
		suites[t.Dir] = suites[t.Dir] || t.Suite
	}
	for i := range tests {
		t := &tests[i]
		t.Suite = suites[t.Dir]
		for _, module := range modules {
			if below(t.Dir, module) && len(module) > len(t.Module) {
				t.Module = module
			}
		}
		if w, found := wholeOf(t.Dir); found {
			if t.Tier != "" {
				return nil, fmt.Errorf("%s is marked, and all tests in %s belong to the tier %s", t, w.Dir, w.Tier)
			}
			t.Tier = w.Tier
		}
		t.Tier = cmp.Or(t.Tier, "test")
	}
	tests = slices.DeleteFunc(tests, func(t Test) bool { return t.Name == "" })
	slices.SortFunc(tests, func(a, b Test) int { return strings.Compare(a.String(), b.String()) })
	return tests, nil
}

// ignored reports whether a directory holds nothing that the Go command tests here.
func ignored(dir string) bool {
	name := path.Base(dir)
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains([]string{"testdata", "node_modules", "bin", "artifacts"}, name)
}

// parse returns the tests in a file. A file that makes a suite without having tests returns one without a name.
func parse(file, relative string) ([]Test, error) {
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var tests []Test
	dir := path.Dir(relative)
	tier, framework := importedAs(parsed, tierPackage), importedAs(parsed, frameworkPackage)
	marked := map[ast.Node]bool{}
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || !isTest(function) {
			continue
		}
		test := Test{Dir: dir, Name: function.Name.Name}
		if len(function.Body.List) > 0 {
			if statement, ok := function.Body.List[0].(*ast.ExprStmt); ok {
				test.Tier = marks[called(statement.X, tier)]
				marked[statement.X] = test.Tier != ""
			}
		}
		tests = append(tests, test)
	}
	var problem error
	suite := false
	ast.Inspect(parsed, func(n ast.Node) bool {
		expression, ok := n.(ast.Expr)
		if ok && called(expression, framework) == "New" {
			suite = true
		}
		if ok && marks[called(expression, tier)] != "" && !marked[n] && problem == nil {
			problem = fmt.Errorf("%s:%d: a mark belongs at the start of a test function; for a part of a test, use tier.Skipf", relative, positions.Position(n.Pos()).Line)
		}
		return true
	})
	if suite {
		tests = append(tests, Test{Dir: dir, Suite: true})
	}
	return tests, problem
}

// importedAs returns the name that a file gives a package, which is empty if it does not import it.
func importedAs(file *ast.File, pkg string) string {
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err != nil || imported != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// called returns the name of the function that an expression calls, if it belongs to the package with this name in the file.
func called(expression ast.Expr, pkg string) string {
	call, ok := expression.(*ast.CallExpr)
	if !ok || pkg == "" {
		return ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if from, ok := selector.X.(*ast.Ident); !ok || from.Name != pkg {
		return ""
	}
	return selector.Sel.Name
}

// isTest reports whether the Go command runs a function as a test.
func isTest(f *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(f.Name.Name, "Test")
	if !ok || f.Recv != nil || f.Body == nil || f.Name.Name == "TestMain" || len(f.Type.Params.List) != 1 {
		return false
	}
	pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "T" && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}
