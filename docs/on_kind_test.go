package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/framework/selection"
	"github.com/example/operator-testbed/scripts/runner/plan"
)

// TestOnKindPage compares the table of what make e2e runs on kind with the suites and e2e/on-kind.yaml. Each feature needs a kubelet, or is
// in that file with a reason.
func TestOnKindPage(t *testing.T) {
	selected, err := selection.Read(filepath.Join(repository, "e2e", "on-kind.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := onKindTable(selected, suiteSources(t))
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "reference/on-kind.md", "the suites and e2e/on-kind.yaml", table)
}

// TestSuitesOnKind compares the suites that make e2e starts on kind with those of which a feature runs there. A suite that would leave out
// all of its features has to be compiled and installed all the same.
func TestSuitesOnKind(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	e2e, err := plan.For("e2e", plan.Request{Root: root, Cluster: "kind"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var started []string
	for _, part := range e2e.Parts {
		if part.Name != plan.SuitesOnKind {
			continue
		}
		if want := "TESTBED_SELECTION=" + filepath.Join(root, "e2e", "on-kind.yaml"); !slices.Contains(part.Env, want) {
			t.Errorf("the part %q has the environment %q, want %s in it", part.Name, part.Env, want)
		}
		started = append(started, part.Tests.Packages...)
	}
	selected, err := selection.Read(filepath.Join(root, "e2e", "on-kind.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name, sources := range suiteSources(t) {
		runs, directory := false, ""
		for file, source := range sources {
			directory = "./" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), repository+"/")
			tests, err := needsKubelet(source)
			if err != nil {
				t.Fatal(err)
			}
			for test := range tests {
				runs = runs || selected.LeftOut(name, test) == ""
			}
		}
		if runs && name != "nodes" { // whose cluster has three nodes, for the nightly run
			want = append(want, directory)
		}
	}
	slices.Sort(started)
	slices.Sort(want)
	if !slices.Equal(started, want) {
		t.Errorf("make e2e starts the suites\n%q, but these have features that run on kind:\n%q", started, want)
	}
}

// suiteSources returns the test files of each suite that can run on kind, by the suite's name.
func suiteSources(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	suites := map[string]map[string][]byte{}
	for _, pattern := range []string{"e2e/memcached", "e2e/memcached/nodes", "tutorial/*/test/e2e"} {
		directories, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil || len(directories) == 0 {
			t.Fatalf("suites in %s: %q, %v", pattern, directories, err)
		}
		for _, directory := range directories {
			files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			sources, name := map[string][]byte{}, ""
			for _, file := range files {
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[file] = source
				found, err := suiteName(source)
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				name += found
			}
			if name == "" || suites[name] != nil {
				t.Fatalf("the suite in %s has the name %q, want one that no other suite has", directory, name)
			}
			suites[name] = sources
		}
	}
	return suites
}

// suiteName returns the name in the framework.Options of a suite's file, or "" where there are none.
func suiteName(source []byte) (name string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if of, ok := literal.Type.(*ast.SelectorExpr); !ok || of.Sel.Name != "Options" {
			return true
		}
		for _, element := range literal.Elts {
			if field, ok := element.(*ast.KeyValueExpr); ok && fmt.Sprint(field.Key) == "Name" {
				name = text(field.Value)
			}
		}
		return false
	})
	return name, nil
}

// needsKubelet returns the names of the test functions in a suite's file that run features, and whether their features need a kubelet.
func needsKubelet(source []byte) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(function.Name.Name, "Test") {
			continue
		}
		isFeature, kubelet := false, false
		ast.Inspect(function, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
				isFeature = isFeature || selector.Sel.Name == "Feature" && len(call.Args) == 1
				kubelet = kubelet || selector.Sel.Name == "WithLabel" && len(call.Args) == 2 && text(call.Args[0]) == "needs" && text(call.Args[1]) == "kubelet"
			}
			return true
		})
		if isFeature {
			tests[function.Name.Name] = kubelet
		}
	}
	return tests, nil
}

// reasons are the features of one table by reason and suite, in the order in which the reasons were first given.
type reasons struct {
	order    []string
	features map[string]map[string][]string
	count    int
}

func (r *reasons) add(because, suite, test string) {
	if r.features == nil {
		r.features = map[string]map[string][]string{}
	}
	if r.features[because] == nil {
		r.order, r.features[because] = append(r.order, because), map[string][]string{}
	}
	r.features[because][suite] = append(r.features[because][suite], "`"+test+"`")
	r.count++
}

// table returns a row for each reason, with its features by suite.
func (r *reasons) table() string {
	var b strings.Builder
	b.WriteString("| because | features |\n|---|---|\n")
	for _, because := range r.order {
		var suites []string
		for _, suite := range slices.Sorted(maps.Keys(r.features[because])) {
			suites = append(suites, suite+": "+strings.Join(r.features[because][suite], ", "))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", because, strings.Join(suites, "; "))
	}
	return b.String()
}

// onKindTable returns the tables of the features that make e2e runs on kind, and of those that it leaves out.
func onKindTable(selected *selection.Selection, suites map[string]map[string][]byte) (string, error) {
	if unknown := slices.DeleteFunc(selected.Suites(), func(suite string) bool { return suites[suite] != nil }); len(unknown) > 0 {
		return "", fmt.Errorf("e2e/on-kind.yaml names the suites %q, which there are not", unknown)
	}
	var run, left reasons
	for _, suite := range slices.Sorted(maps.Keys(suites)) {
		tests := map[string]bool{}
		for file, source := range suites[suite] {
			found, err := needsKubelet(source)
			if err != nil {
				return "", fmt.Errorf("%s: %w", file, err)
			}
			maps.Copy(tests, found)
		}
		for _, name := range selected.Names(suite) {
			if _, known := tests[name]; !known {
				return "", fmt.Errorf("e2e/on-kind.yaml names %s of the suite %s, which is not a feature of it", name, suite)
			}
		}
		for _, test := range slices.Sorted(maps.Keys(tests)) {
			both, leftOut := selected.RunsOnBoth(suite, test), selected.LeftOut(suite, test)
			switch {
			case tests[test] && both+leftOut != "":
				return "", fmt.Errorf("%s of the suite %s needs a kubelet, so it always runs on kind: take it out of e2e/on-kind.yaml", test, suite)
			case tests[test]:
				run.add("it needs a kubelet", suite, test)
			case both != "":
				run.add(both, suite, test)
			case leftOut != "":
				left.add(leftOut, suite, test)
			default:
				return "", fmt.Errorf("make e2e must know whether to run %s of the suite %s on kind: add WithLabel(\"needs\", \"kubelet\") if only real pods can show it, or name it in e2e/on-kind.yaml with a reason", test, suite)
			}
		}
	}
	return fmt.Sprintf("\n## Run on kind\n\n%s\n%d features.\n\n## Left out\n\n%s\n%d features.\n\n", run.table(), run.count, left.table(), left.count), nil
}

func TestOnKindTable(t *testing.T) {
	suites := map[string]map[string][]byte{"cache": {"a_test.go": []byte(`package p
func TestReal(t *testing.T) { s.Feature("real").WithLabel("needs", "kubelet").Test(t) }
func TestScale(t *testing.T) { s.Feature("scale").Test(t) }
func TestSize(t *testing.T) { s.Feature("size").Test(t) }
func TestSchema(t *testing.T) { s.Feature("schema").Test(t) }
func TestPure(t *testing.T) { t.Log("not a feature") }
`)}}
	group := func(because string, tests ...string) []selection.Group {
		return []selection.Group{{Because: because, Features: map[string][]string{"cache": tests}}}
	}
	table, err := onKindTable(&selection.Selection{Both: group("pods end", "TestScale", "TestSize"), Simulated: group("the API server decides", "TestSchema")}, suites)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| it needs a kubelet | cache: `TestReal` |\n| pods end | cache: `TestScale`, `TestSize` |\n\n3 features.\n",
		"| the API server decides | cache: `TestSchema` |\n\n1 features.\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
	for want, wrong := range map[string]*selection.Selection{
		"must know whether to run TestSize of the suite cache on kind":           {Both: group("pods end", "TestScale"), Simulated: group("the API server decides", "TestSchema")},
		"names TestGone of the suite cache, which is not a feature":              {Both: group("pods end", "TestGone", "TestSize", "TestSchema")},
		"TestReal of the suite cache needs a kubelet, so it always runs on kind": {Both: group("pods end", "TestReal", "TestSize", "TestSchema")},
		`names the suites ["other"], which there are not`:                        {Both: []selection.Group{{Because: "pods end", Features: map[string][]string{"other": {"TestSize"}}}}},
	} {
		if _, err := onKindTable(wrong, suites); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestSuiteName(t *testing.T) {
	for want, source := range map[string]string{
		"cache": "package p\nvar s = framework.New(framework.Options{Config: \"x\", Name: \"cache\"})\n",
		"":      "package p\nvar s = other.Settings{Name: \"cache\"}\n",
	} {
		if got, err := suiteName([]byte(source)); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
