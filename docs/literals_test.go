package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// suites are the files of suites whose objects' names, sizes and ports come from TESTBED_SEED.
var suites = []string{"tutorial/*/test/e2e/*_test.go", "e2e/memcached/*_test.go", "e2e/memcached/nodes/*_test.go", "e2e/conformance/*.go"}

// TestSuitesDrawWhatTheyCreate wants suites to ask the scope for names, sizes and ports: an operator with these built in would pass a
// suite that always used the same.
func TestSuitesDrawWhatTheyCreate(t *testing.T) {
	positions, packages := token.NewFileSet(), map[string][]*ast.File{}
	for _, pattern := range suites {
		for _, path := range glob(t, pattern) {
			if strings.HasSuffix(path, "_test.go") != strings.HasSuffix(pattern, "_test.go") {
				continue // it tests a suite that other tests use, too
			}
			file, err := parser.ParseFile(positions, filepath.Join(repository, path), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		}
	}
	for _, files := range packages {
		for _, found := range literalsIn(files) {
			t.Errorf("%s: the literal %s: use the scope's NewName, Size or Port, or a constant that says what is special about it", positions.Position(found.Pos()), found.Value)
		}
	}
}

// drawn are parameters of a suite's functions whose arguments the scope hands out.
var drawn = map[string]bool{"name string": true, "size int32": true, "port int32": true}

// numberInPatch is a size or a port that a JSON patch sets.
var numberInPatch = regexp.MustCompile(`"(size|replicas|containerPort)": ?[1-9]`)

// literalsIn returns literals that name an object, or set a size or port: as an argument of a function or method of the suite, as the
// name of an object in a namespace unless the operator's manifests name it, as new(int32(2)), in a list of sizes, and in a patch.
func literalsIn(files []*ast.File) []*ast.BasicLit {
	parameters := map[string][]string{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				for _, field := range function.Type.Params.List {
					for _, name := range field.Names {
						parameters[function.Name.Name] = append(parameters[function.Name.Name], name.Name+" "+types.ExprString(field.Type))
					}
				}
			}
		}
	}
	var found []*ast.BasicLit
	add := func(expression ast.Expr) {
		if literal, ok := expression.(*ast.BasicLit); ok {
			found = append(found, literal)
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				function := calledName(node.Fun)
				if function == "int32" {
					add(node.Args[0])
				}
				for i, parameter := range parameters[function] {
					if drawn[parameter] && i < len(node.Args) {
						add(node.Args[i])
					}
				}
			case *ast.CompositeLit:
				if isType(node.Type, "[]int32") {
					for _, size := range node.Elts {
						add(size)
					}
				}
				if isType(node.Type, "operation") && len(node.Elts) == 3 { // of a JSON patch: what it does, where, and the new value
					add(node.Elts[2])
				}
				if name := valueOf(node, "Name"); valueOf(node, "Namespace") != nil && !strings.Contains(text(name), "operator") {
					add(name)
				}
			case *ast.BasicLit:
				if numberInPatch.MatchString(node.Value) {
					add(node)
				}
			}
			return true
		})
	}
	return found
}

// isType reports whether an expression, which may be nil, is the name of the type.
func isType(expression ast.Expr, name string) bool {
	return expression != nil && types.ExprString(expression) == name
}

// calledName returns the name of the function or method that a call names, or "".
func calledName(function ast.Expr) string {
	switch function := function.(type) {
	case *ast.Ident:
		return function.Name
	case *ast.SelectorExpr:
		return function.Sel.Name
	}
	return ""
}

// valueOf returns the value of a key in a composite literal, or nil.
func valueOf(literal *ast.CompositeLit, key string) ast.Expr {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && name.Name == key {
				return pair.Value
			}
		}
	}
	return nil
}

func TestLiteralsInSuites(t *testing.T) {
	const helpers = `package e2e
func create(ctx context.Context, s *framework.Scope, name string, size int32) {}
func managed(replicas int) {}
func (c Checks) created(ctx context.Context, prefix string, size int32) {}
func TestX() {
`
	for statement, want := range map[string]string{
		`create(ctx, s, s.NewName("cache"), s.Size(1, 2))`:                          "",
		`create(ctx, s, mc.Name, largest+1)`:                                        "",
		`create(ctx, s, "cache", s.Size(1, 2))`:                                     `"cache"`,
		`create(ctx, s, s.NewName("cache"), 3)`:                                     "3",
		`managed(3)`:                                                                "",
		`c.created(ctx, "cache", 2)`:                                                "2",
		`c.created(ctx, "cache", smallest)`:                                         "",
		`for _, size := range []int32{smallest, 3} {}`:                              "3",
		`for _, status := range []int{200, 201} {}`:                                 "",
		`c.drift(ctx, operation{"replace", "/spec/replicas", 4})`:                   "4",
		`c.drift(ctx, operation{"replace", "/spec/replicas", was + 1})`:             "",
		`spec.Size = new(int32(3))`:                                                 "3",
		`spec.Size = new(s.Size(3, 5))`:                                             "",
		`patch(` + "`" + `{"spec":{"size":3}}` + "`" + `)`:                          "`" + `{"spec":{"size":3}}` + "`",
		`patch(` + "`" + `{"spec":{"size":%d}}` + "`" + `)`:                         "",
		`pod(metav1.ObjectMeta{Namespace: s.Namespace, Name: "cache"})`:             `"cache"`,
		`pod(metav1.ObjectMeta{Namespace: namespace, Name: "operator-webhook-ca"})`: "",
		`crd(metav1.ObjectMeta{Name: "memcacheds.cache.example.com"})`:              "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", helpers+statement+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, found := range literalsIn([]*ast.File{file}) {
			got += found.Value
		}
		if got != want {
			t.Errorf("%s: got %s, expected %s", statement, got, want)
		}
	}
}
