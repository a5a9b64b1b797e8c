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
	"strconv"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/mutant"
)

// suite is the directory of the operator's suite.
const suite = "../e2e/memcached"

// points are those of the contract, in the page's order.
var points = []string{"size", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "admission", "manager"}

// TestContractPage compares the table of features and mutants with the suite's: each feature is labeled with its point of the
// contract, and each mutant names the feature that kills it.
func TestContractPage(t *testing.T) {
	features := map[string][]string{}
	sources, err := filepath.Glob(filepath.Join(suite, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found, err := featuresOf(source)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		maps.Copy(features, found)
	}
	mutants, err := mutant.Read(filepath.Join(suite, "mutants"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := contractTable(features, mutants)
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "reference/contract.md", "the suite and its mutants", table)
}

// featuresOf returns the points of the contract that each test in a suite's file asserts.
func featuresOf(source []byte) (map[string][]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	features := map[string][]string{}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(function.Name.Name, "Test") {
			continue
		}
		isFeature := false
		var labels []string
		ast.Inspect(function, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			isFeature = isFeature || selector.Sel.Name == "Feature" && len(call.Args) == 1
			if selector.Sel.Name == "WithLabel" && len(call.Args) == 2 && text(call.Args[0]) == "contract" {
				labels = append(labels, text(call.Args[1]))
			}
			return true
		})
		if !isFeature {
			continue
		}
		if len(labels) == 0 {
			return nil, fmt.Errorf("the feature of %s names no point of the contract: add WithLabel(\"contract\", \"...\"), one of %s", function.Name.Name, strings.Join(points, ", "))
		}
		slices.Sort(labels)
		features[function.Name.Name] = slices.Compact(labels)
	}
	return features, nil
}

// text returns the value of a string literal, or "" for any other expression.
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}

// contractTable returns the table of points, the features that assert them, and the mutants that these kill. Each point needs a
// feature, and a mutant that shows that the feature asserts something.
func contractTable(features map[string][]string, mutants []mutant.Mutant) (string, error) {
	killed := map[string][]string{}
	for _, m := range mutants {
		if _, known := features[m.Test]; !known {
			return "", fmt.Errorf("the mutant %s names %s, which is not a feature of the suite", m.Name, m.Test)
		}
		killed[m.Test] = append(killed[m.Test], m.Name)
	}
	var b strings.Builder
	b.WriteString("\n| point | feature | mutants it kills |\n|---|---|---|\n")
	for _, point := range points {
		asserting, broken := 0, 0
		for _, test := range slices.Sorted(maps.Keys(features)) {
			if slices.Contains(features[test], point) {
				fmt.Fprintf(&b, "| %s | `%s` | %s |\n", point, test, strings.Join(killed[test], ", "))
				asserting++
				broken += len(killed[test])
			}
		}
		switch {
		case asserting == 0:
			return "", fmt.Errorf("no feature of the suite is about point %s of the contract", point)
		case broken == 0:
			return "", fmt.Errorf("no mutant breaks point %s of the contract: add one to e2e/memcached/mutants that one of its features kills", point)
		}
	}
	for test, labels := range features {
		for _, label := range labels {
			if !slices.Contains(points, label) {
				return "", fmt.Errorf("%s is about %q, which is not a point of the contract: use one of %s", test, label, strings.Join(points, ", "))
			}
		}
	}
	fmt.Fprintf(&b, "\n%d features, %d mutants.\n\n", len(features), len(mutants))
	return b.String(), nil
}

func TestFeaturesOf(t *testing.T) {
	const source = `package p
func TestA(t *testing.T) {
	framework.Given(s.Feature("a").WithLabel("contract", "2").WithLabel("disruptive", "x").WithLabel("contract", "10"), given).Test(t)
}
func TestPure(t *testing.T) { t.Log("no feature") }
`
	features, err := featuresOf([]byte(source))
	if err != nil || fmt.Sprint(features) != "map[TestA:[10 2]]" {
		t.Errorf("got %v, %v", features, err)
	}
	if _, err := featuresOf([]byte(`package p
func TestB(t *testing.T) { s.Feature("b").Test(t) }
`)); err == nil || !strings.Contains(err.Error(), "the feature of TestB names no point of the contract") {
		t.Errorf("a feature without a point: %v", err)
	}
}

func TestContractTable(t *testing.T) {
	all := map[string][]string{"TestAll": points}
	if _, err := contractTable(all, []mutant.Mutant{{Name: "m", Test: "TestGone"}}); err == nil || !strings.Contains(err.Error(), "TestGone, which is not a feature") {
		t.Errorf("a mutant of no feature: %v", err)
	}
	if _, err := contractTable(map[string][]string{"TestAll": points[1:]}, nil); err == nil || !strings.Contains(err.Error(), "no feature of the suite is about point size") {
		t.Errorf("a point without a feature: %v", err)
	}
	if _, err := contractTable(map[string][]string{"TestAll": append([]string{"11"}, points...)}, []mutant.Mutant{{Name: "m", Test: "TestAll"}}); err == nil || !strings.Contains(err.Error(), `"11", which is not a point`) {
		t.Errorf("an unknown point: %v", err)
	}
	apart := map[string][]string{"TestSize": {"size"}, "TestRest": points[1:]}
	if _, err := contractTable(apart, []mutant.Mutant{{Name: "m", Test: "TestRest"}}); err == nil || !strings.Contains(err.Error(), "no mutant breaks point size") {
		t.Errorf("a point without a mutant: %v", err)
	}
	table, err := contractTable(all, []mutant.Mutant{{Name: "m", Test: "TestAll"}, {Name: "n", Test: "TestAll"}})
	if err != nil || !strings.Contains(table, "| 10 | `TestAll` | m, n |\n") || !strings.Contains(table, "\n1 features, 2 mutants.\n") {
		t.Errorf("got %s, %v", table, err)
	}
}
