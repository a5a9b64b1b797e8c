package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/e2e/tier/tree"
)

// tests returns all tests of the repository.
func tests(t *testing.T) []tree.Test {
	t.Helper()
	all, err := tree.Read(repository)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// chosen reports whether a selection runs a test in a run of a tier.
func chosen(s tree.Selection, tier string, test tree.Test) bool {
	pkg := "."
	if test.Dir != test.Module {
		pkg = "./" + strings.TrimPrefix(test.Dir, strings.TrimPrefix(test.Module+"/", "./"))
	}
	if s.Module != test.Module || !slices.Contains(s.Packages, pkg) {
		return false
	}
	if s.Run == "" {
		return test.Tier == tier || tier != "test" // marked tests skip themselves in the default tier only
	}
	return regexp.MustCompile(s.Run).MatchString(test.Name)
}

// TestEachTestIsInOneTier plans every tier, and looks at what each of them would run: no test is left out, and none runs in two tiers. It
// also compares the tests with those that a simpler way finds.
func TestEachTestIsInOneTier(t *testing.T) {
	all, plans := tests(t), map[string][]tree.Selection{}
	for _, tier := range summary.Tiers() {
		plans[tier] = tree.Plan(all, tier)
	}
	for _, test := range all {
		var in []string
		for _, tier := range summary.Tiers() {
			for _, s := range plans[tier] {
				if chosen(s, tier, test) {
					in = append(in, summary.Command(tier))
				}
			}
		}
		elsewhere := test.Module == "docs/example" // a page runs it
		if want := []string{summary.Command(test.Tier)}; !elsewhere && !slices.Equal(in, want) {
			t.Errorf("%s is run by %q, expected %q: give it a mark, or a name that no marked test in the same packages has", test, in, want)
		}
	}

	found := map[string]bool{}
	for _, test := range all {
		found[test.String()] = true
	}
	declared := regexp.MustCompile(`(?m)^func (Test(?:[A-Z_0-9]\w*)?)\(\w+ \*testing\.T\)`)
	count := 0
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, "_test.go") || slices.Contains(strings.Split(file, "/"), "testdata") {
			continue
		}
		for _, match := range declared.FindAllStringSubmatch(withoutRawStrings(read(t, file)), -1) {
			count++
			if test := path.Dir(file) + " " + match[1]; !found[test] {
				t.Errorf("%s is in no tier", test)
			}
		}
	}
	if count < 1000 {
		t.Errorf("the repository has %d tests, expected many more", count)
	}
}

// withoutRawStrings removes text between backquotes, which may look like code.
func withoutRawStrings(code string) string {
	return regexp.MustCompile("(?s)`[^`]*`").ReplaceAllString(code, "``")
}

// TestNestedModulesAreInATier is about modules that can't import the marks.
func TestNestedModulesAreInATier(t *testing.T) {
	whole := map[string]bool{}
	for _, w := range tree.Wholes() {
		whole[w.Dir] = true
		if w.Why == "" || summary.Command(w.Tier) == "" {
			t.Errorf("%+v has no reason, or no tier", w)
		}
	}
	for _, test := range tests(t) {
		if test.Module != "." && !slices.ContainsFunc(slices.Collect(maps.Keys(whole)), func(dir string) bool { return matches(dir+"/...", test.Dir) }) {
			t.Errorf("%s is in a module of its own: add %s to e2e/tier/tree/whole.go, with a tier", test, test.Module)
		}
	}
}

// TestAllowedSkipsExist compares the list of skips that are not failures with the tests: an entry of which there is no test any more could
// hide another one.
func TestAllowedSkipsExist(t *testing.T) {
	all := tests(t)
	for _, a := range summary.Allowances() {
		switch {
		case a.Why == "":
			t.Errorf("%+v has no reason", a)
		case a.Test == "" && a.Reason == "":
			t.Errorf("%+v allows everything in its package: name a test, or a part of what it prints", a)
		case !slices.ContainsFunc(all, func(test tree.Test) bool { return test.Dir == a.Package && (a.Test == "" || a.Test == test.Name) }):
			t.Errorf("%+v is about no test", a)
		case a.Reason != "" && !slices.ContainsFunc(tracked(t), func(file string) bool {
			return (path.Dir(file) == a.Package || path.Dir(path.Dir(file)) == a.Package) && path.Ext(file) == ".go" && strings.Contains(read(t, file), a.Reason)
		}):
			t.Errorf("%+v: nothing in %s, or directly below, prints that", a, a.Package)
		}
	}
}

// TestTiersAreTheOnlySwitch looks for other ways in which tests choose when to run.
func TestTiersAreTheOnlySwitch(t *testing.T) {
	for _, file := range tracked(t) {
		if path.Ext(file) != ".go" || strings.HasPrefix(file, "e2e/tier/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, sentence := range otherSwitches(file, parsed) {
			t.Error(sentence)
		}
	}
}

// mayChooseByCluster are places that read CLUSTER for another reason than to skip a test, or can't import package tier.
var mayChooseByCluster = map[string]string{
	"e2e/conformance/conformance_test.go": "prepares an operator before there is a test",
	"tutorial/browser/learn_test.go":      "a module of its own, which belongs to a tier as a whole",
}

func otherSwitches(file string, parsed *ast.File) (wrong []string) {
	test := strings.HasSuffix(file, "_test.go")
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "testing" && selector.Sel.Name == "Short" {
			wrong = append(wrong, file+" calls testing.Short: mark the test with tier.All or tier.Nightly")
		}
		if !slices.Contains([]string{"Getenv", "LookupEnv"}, selector.Sel.Name) || len(call.Args) != 1 {
			return true
		}
		name := ""
		if literal, ok := call.Args[0].(*ast.BasicLit); ok {
			name = strings.Trim(literal.Value, `"`)
		}
		switch {
		case name == "TESTBED_TIER":
			wrong = append(wrong, fmt.Sprintf("%s reads %s: use tier.Current", file, name))
		case test && name == "CLUSTER" && mayChooseByCluster[file] == "":
			wrong = append(wrong, fmt.Sprintf("%s reads %s: use tier.NeedsEmbedded, or a mark", file, name))
		case test && regexp.MustCompile(`_PROOF$|^(SHORT|SLOW|LONG|SOAK|NIGHTLY)`).MatchString(name):
			wrong = append(wrong, fmt.Sprintf("%s reads %s: use a mark of package tier", file, name))
		}
		return true
	})
	return wrong
}

func TestOtherSwitchesAreNamed(t *testing.T) {
	for _, test := range []struct{ file, statement, want string }{
		{"a/a_test.go", `if testing.Short() {}`, "a/a_test.go calls testing.Short: "},
		{"a/a_test.go", `_ = os.Getenv("TESTBED_TIER")`, "a/a_test.go reads TESTBED_TIER: "},
		{"a/a.go", `_, _ = os.LookupEnv("TESTBED_TIER")`, "a/a.go reads TESTBED_TIER: "},
		{"a/a_test.go", `_ = os.Getenv("CLUSTER")`, "a/a_test.go reads CLUSTER: "},
		{"a/a_test.go", `_ = os.Getenv("CLASS_PROOF")`, "a/a_test.go reads CLASS_PROOF: "},
		{"a/a.go", `_ = os.Getenv("CLUSTER")`, ""},
		{"a/a_test.go", `_ = os.Getenv("PATH")`, ""},
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), test.file, "package a\n\nfunc f() {\n"+test.statement+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(otherSwitches(test.file, parsed), "; "); !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s with %s: got %q, expected %q", test.file, test.statement, got, test.want)
		}
	}
}
