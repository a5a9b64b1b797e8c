// Package docs_test keeps true what the documentation promises.
package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/example/operator-testbed"

// marks is the package with which tests say which command runs them. Tests in every part may import it, except in those that it must not
// depend on, or that are copied into other projects without it.
const marks = "e2e/tier"

// unmarked are those parts.
var unmarked = []string{"docs/example", "e2e/host", "kind", "operator"}

// part is a directory of the repository, with what packages in it may import of the others. As in Go's own patterns, `dir/...` is a
// directory and all below it, and `dir` is that package alone.
type part struct {
	imports []string
	tests   []string // more, for tests
	why     string
}

// parts are the parts of the repository: see docs/architecture.md. A package belongs to the innermost that it is below. The arrows point one way:
// tutorial -> e2e -> operator/api, and in e2e: suites and tools -> framework -> cluster -> host.
var parts = map[string]part{
	"operator": {why: "the operator does not depend on its tests, on chapters or on where it runs"},

	"e2e/cluster": {
		imports: []string{"e2e/host/home", "e2e/internal/...", "e2e/loopback", "e2e/procstat", "e2e/reaper"},
		tests:   []string{"e2e/executable", "e2e/framework/..."},
		why:     "a cluster does not depend on what runs on it",
	},
	"e2e/framework": {
		imports: []string{"e2e/cluster", "e2e/cluster/supervisor", "e2e/confinement", "e2e/host/home", "e2e/internal/...", "e2e/interrupt", "e2e/loopback", "e2e/reaper", "e2e/tier/..."},
		tests:   []string{"e2e/cluster/embedded", "operator/api/..."},
		why:     "what suites are written with does not depend on one operator, nor on one kind of cluster",
	},
	"e2e/memcached": {
		imports: []string{"e2e/framework/...", "e2e/cluster", "e2e/conformance/...", "e2e/helm", "e2e/loopback", "e2e/mutant/...", "operator/api/..."},
		tests:   []string{"e2e/executable"},
		why:     "a suite never knows where it runs, and sees of the operator what its users see",
	},
	"e2e/conformance": {
		imports: []string{"e2e/framework/...", "e2e/cluster", "e2e/cluster/supervisor", "e2e/helm", "e2e/junit"},
		tests:   []string{"e2e/confinement", "e2e/mutant"},
		why:     "the suite for other operators does not depend on ours",
	},
	"e2e/helm":        {imports: []string{"e2e/framework/manifest", "e2e/framework/runner"}, tests: []string{"e2e/reaper"}, why: "it compares manifests, and runs nothing but Helm"},
	"e2e/sdk":         {imports: []string{"e2e/cluster/supervisor/lock"}, tests: []string{"e2e/cluster/embedded", "e2e/cluster/kind/kindtest", "e2e/conformance/image/imagetest", "e2e/framework/manifest", "e2e/framework/runner", "e2e/loopback", "e2e/reaper"}, why: "it runs Operator SDK, and compares a bundle with manifests"},
	"e2e/sdk/images":  {imports: []string{"e2e/cluster", "e2e/conformance/image/imagetest", "e2e/sdk"}, why: "it puts what Operator SDK builds into images"},
	"e2e/demo":        {imports: []string{"e2e/framework/...", "operator/api/..."}, why: "it draws what it sees of any cluster"},
	"e2e/markdown":    {imports: []string{"e2e/tier/..."}, tests: []string{"e2e/cluster/supervisor/leftover", "e2e/reaper"}, why: "it checks any repository's Markdown files"},
	"e2e/internal":    {why: "all of e2e may import it"},
	"e2e/confinement": {tests: []string{"e2e/reaper"}, why: "what confines a program does not depend on the program"},
	"e2e/confirm":     {why: "commands that ask may import it"},
	"e2e/executable":  {why: "all tests may import it"},
	"e2e/host":        {why: "all parts may import it, and it compiles before anything else"},
	"e2e/interrupt":   {why: "all of e2e may import it"},
	"e2e/junit":       {why: "whatever reports results may import it"},
	"e2e/loopback":    {why: "all of e2e may import it"},
	"e2e/procstat":    {why: "whatever lists processes may import it"},
	"e2e/tier":        {tests: []string{"e2e/reaper"}, why: "all tests may import it"},
	"e2e/reaper": {
		imports: []string{"e2e/cluster/supervisor/lock", "e2e/host/home", "e2e/procstat"},
		tests:   []string{"e2e/cluster/supervisor/leftover"},
		why:     "the tests of any package may use it, and it compiles in a second",
	},
	"e2e":             {imports: []string{"e2e/...", "operator/api/..."}, why: "tools see of the operator what its users see, and nothing of chapters"},
	"e2e/cmd/testbed": {imports: []string{"e2e/...", "operator/api/...", "tutorial/lab"}, why: "it is the program that has every command"},

	"kind":           {why: "what clusters are made of does not depend on what runs on them"},
	"kind/docker":    {imports: []string{"e2e/host/home"}, why: "it keeps the data of Docker where the testbed keeps its files"},
	"scripts":        {why: "the tools are modules of their own"},
	"scripts/sdk":    {imports: []string{"kind/build/..."}, why: "it builds programs as the modules in kind do"},
	"scripts/runner": {imports: []string{"e2e/host/gocommand", "e2e/host/home", "e2e/junit", "e2e/procstat", "e2e/tier/summary", "e2e/tier/tree"}, tests: []string{"e2e/executable"}, why: "it is compiled before anything else, within seconds"},

	"tutorial": {
		imports: []string{"e2e/framework/...", "e2e/markdown/...", "operator/api/..."},
		tests:   []string{"e2e/reaper", "e2e/sdk", "tutorial/internal/trial"},
		why:     "a chapter is a complete operator, and its suite never knows where it runs",
	},
	"tutorial/18-operator-sdk/test/onkind": {
		tests: []string{"e2e/cluster", "e2e/cluster/kind/kindtest", "e2e/conformance/image/imagetest", "e2e/reaper", "e2e/sdk/..."},
		why:   "it loads an image that it makes itself into the nodes of a kind cluster",
	},
	"tutorial/18-operator-sdk/test/twins": {
		tests: []string{"e2e/framework/runner", "e2e/reaper", "e2e/sdk/...", "e2e/tier"},
		why:   "it measures operators as processes, and their images",
	},
	"tutorial/lab": {
		imports: []string{"tutorial/...", "e2e/cluster/...", "e2e/confirm", "e2e/framework/...", "e2e/host/home"},
		tests:   []string{"e2e/reaper"},
		why:     "the commands of learners keep a cluster up while a learner works, and their events where this machine's state is",
	},
	"tutorial/internal": {
		imports: []string{"tutorial/...", "e2e/cluster/supervisor/lock", "e2e/framework/...", "e2e/host/home", "e2e/interrupt", "e2e/markdown/...", "e2e/mutant/..."},
		tests:   []string{"e2e/cluster/...", "e2e/framework/...", "e2e/reaper"},
		why:     "the learner's commands copy operators, run suites as programs, and show pages",
	},
	"tutorial/internal/grade": {
		imports: []string{"tutorial/...", "e2e/cluster/embedded", "e2e/framework/manifest", "e2e/framework/report", "e2e/framework/runner", "e2e/host/home", "e2e/interrupt", "e2e/junit"},
		tests:   []string{"e2e/cluster/...", "e2e/framework/...", "e2e/reaper"},
		why:     "grading runs suites as programs, on clusters whose executables it has to find first",
	},
	"tutorial/internal/learn": {
		imports: []string{"tutorial/...", "e2e/cluster/...", "e2e/demo", "e2e/framework/...", "operator/api/..."},
		tests:   []string{"e2e/host/home", "e2e/reaper"},
		why:     "the page shows the cluster that is beside the text, as make demo draws it",
	},
	"tutorial/browser": {
		imports: []string{"tutorial/...", "e2e/framework/...", "e2e/host/home"},
		tests:   []string{"e2e/cluster/supervisor", "e2e/reaper"},
		why:     "the tests of pages keep what they download where everything else is kept",
	},
	"tutorial/internal/isolation": {
		imports: []string{"e2e/confinement", "e2e/procstat"},
		tests:   []string{"e2e/cluster/embedded", "e2e/framework/runner", "e2e/host/home", "e2e/reaper"},
		why:     "the walls around a submission do not depend on what is behind them",
	},

	"docs":         {imports: []string{"operator/api/...", "e2e/framework/selection", "e2e/mutant/...", "e2e/markdown/...", "e2e/sdk", "scripts/runner/..."}, tests: []string{"e2e/reaper"}, why: "the documentation is checked against the API, the suites' mutants and selection, and what the targets run"},
	"docs/example": {imports: []string{"e2e/framework"}, why: "somebody else's suite needs nothing but the framework"},
}

// partOf returns the innermost part that a directory is below, and its name, which is empty if there is none.
func partOf(dir string) (string, part) {
	for name := dir; name != "."; name = path.Dir(name) {
		if r, found := parts[name]; found {
			return name, r
		}
	}
	return "", part{}
}

// goPackage is what a directory's Go files say before their first declaration.
type goPackage struct {
	dir       string // relative to the repository's root
	name      string
	doc       string
	generated bool // all of it
	// imports and testImports are packages of this repository, relative to its root.
	imports, testImports []string
}

// packages returns the packages of all modules of the repository, for all platforms.
func packages(t *testing.T) []goPackage {
	t.Helper()
	found := map[string]*goPackage{}
	for _, file := range tracked(t) {
		if path.Ext(file) != ".go" || slices.Contains(strings.Split(file, "/"), "testdata") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, file), nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		p := found[path.Dir(file)]
		if p == nil {
			p = &goPackage{dir: path.Dir(file), generated: true}
			found[p.dir] = p
		}
		p.add(parsed, strings.HasSuffix(file, "_test.go"))
	}
	if len(found) < 100 {
		t.Fatalf("the repository has %d packages, expected many more", len(found))
	}
	var all []goPackage
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[dir])
	}
	return all
}

// add takes in a file.
func (p *goPackage) add(file *ast.File, test bool) {
	p.generated = p.generated && ast.IsGenerated(file)
	if p.name == "" || !test {
		p.name = file.Name.Name
	}
	// The tests of a package may say what they are for; only where there is nothing else, that is about the package.
	if p.doc == "" || !test && file.Doc != nil {
		p.doc = file.Doc.Text()
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		dir, ours := strings.CutPrefix(imported, module+"/")
		switch {
		case err != nil || !ours:
		case test:
			p.testImports = append(p.testImports, dir)
		default:
			p.imports = append(p.imports, dir)
		}
	}
}

// wrongImports returns a sentence for each import that the arrows forbid.
func wrongImports(p goPackage) []string {
	name, r := partOf(p.dir)
	if name == "" {
		return []string{fmt.Sprintf("%s is in no part: add one to parts in docs/architecture_test.go, with what it may import", p.dir)}
	}
	var wrong []string
	check := func(imports, allowed []string, who string) {
		for _, imported := range imports {
			if !slices.ContainsFunc(slices.Concat(allowed, []string{name + "/..."}), func(pattern string) bool { return matches(pattern, imported) }) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, but %s %s may only import %s: %s",
					p.dir, imported, who, name, strings.Join(append([]string{name + "/..."}, allowed...), ", "), r.why))
			}
		}
	}
	check(p.imports, r.imports, "packages in")
	forTests := slices.Concat(r.imports, r.tests)
	if !slices.Contains(unmarked, name) {
		forTests = append(forTests, marks+"/...")
	}
	check(p.testImports, forTests, "tests in")
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// matches reports whether a pattern such as `dir/...` matches a directory.
func matches(pattern, dir string) bool {
	above, all := strings.CutSuffix(pattern, "/...")
	return dir == above || all && strings.HasPrefix(dir, above+"/")
}

func TestArrowsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		for _, sentence := range wrongImports(p) {
			t.Error(sentence)
		}
	}
}

func TestWrongImportsAreNamed(t *testing.T) {
	for _, test := range []struct {
		name string
		p    goPackage
		want string // the start of the sentence; empty if the import is allowed
	}{
		{"the same part", goPackage{dir: "e2e/framework/runner", imports: []string{"e2e/framework/audit", "e2e/cluster"}}, ""},
		{"the API", goPackage{dir: "e2e/demo", imports: []string{"operator/api/v1alpha1"}}, ""},
		{"a test", goPackage{dir: "e2e/cluster/embedded", testImports: []string{"e2e/framework"}}, ""},
		{"what only tests may", goPackage{dir: "e2e/cluster/embedded", imports: []string{"e2e/framework"}}, "e2e/cluster/embedded imports e2e/framework, but packages in e2e/cluster may only import e2e/cluster/..., "},
		{"a kind of cluster", goPackage{dir: "e2e/framework", imports: []string{"e2e/cluster/embedded"}}, "e2e/framework imports e2e/cluster/embedded, but packages in e2e/framework may only import "},
		{"another kind of cluster", goPackage{dir: "e2e/framework", imports: []string{"e2e/cluster/kind"}}, "e2e/framework imports e2e/cluster/kind, but packages in e2e/framework may only import "},
		{"a suite that knows where it runs", goPackage{dir: "tutorial/03-controller/test/e2e", testImports: []string{"e2e/cluster/embedded"}}, "tutorial/03-controller/test/e2e imports e2e/cluster/embedded, but tests in tutorial may only import "},
		{"kind and e2e", goPackage{dir: "kind/build/assets", imports: []string{"e2e/loopback"}}, "kind/build/assets imports e2e/loopback, but packages in kind may only import kind/...: what "},
		{"another program of kind's and the host", goPackage{dir: "kind/registry", imports: []string{"e2e/host/home"}}, "kind/registry imports e2e/host/home, but packages in kind may only import kind/...: "},
		{"what compiles first", goPackage{dir: "e2e/host/bundle", imports: []string{"e2e/loopback"}}, "e2e/host/bundle imports e2e/loopback, but packages in e2e/host may only import e2e/host/...: "},
		{"a mark below what marks", goPackage{dir: "e2e/host/home", testImports: []string{"e2e/tier"}}, "e2e/host/home imports e2e/tier, but "},
		{"the operator's tests", goPackage{dir: "operator/cmd", testImports: []string{"e2e/framework"}}, "operator/cmd imports e2e/framework, but tests in operator may only import operator/...: "},
		{"behind the API", goPackage{dir: "e2e/demo", imports: []string{"operator/internal/controller"}}, "e2e/demo imports operator/internal/controller, but "},
		{"a mark", goPackage{dir: "tutorial/internal/grade/grading", testImports: []string{"e2e/tier"}}, ""},
		{"a mark outside a test", goPackage{dir: "e2e/demo", imports: []string{"e2e/tier"}}, "e2e/demo imports e2e/tier, but "},
		{"a mark of the operator's", goPackage{dir: "operator", testImports: []string{"e2e/tier"}}, "operator imports e2e/tier, but "},
		{"a name that starts alike", goPackage{dir: "e2e/demo", imports: []string{"operator/apis"}}, "e2e/demo imports operator/apis, but "},
		{"e2e and chapters", goPackage{dir: "e2e/cmd/mutants", imports: []string{"tutorial/internal/chapter"}}, "e2e/cmd/mutants imports tutorial/internal/chapter, but packages in e2e may only import "},
		{"another project", goPackage{dir: "docs/example/test/e2e", testImports: []string{"e2e/framework/audit"}}, "docs/example/test/e2e imports e2e/framework/audit, but "},
		{"a new directory", goPackage{dir: "web/server"}, "web/server is in no part: add one to parts"},
	} {
		got := wrongImports(test.p)
		switch {
		case test.want == "" && len(got) > 0, test.want != "" && len(got) != 1, len(got) == 1 && !strings.HasPrefix(got[0], test.want):
			t.Errorf("%s: got %q, expected %q", test.name, got, test.want)
		}
	}
}

// undocumented says what a package's doc comment lacks; empty means nothing.
func undocumented(p goPackage) string {
	switch {
	case p.generated, strings.HasPrefix(p.doc, "Package "+p.name+" "), p.name == "main" && strings.HasPrefix(p.doc, "Command "):
		return ""
	case p.doc == "":
		return p.dir + " has no doc comment: say above the package clause of one of its files what it is for"
	case p.name == "main":
		return fmt.Sprintf("the doc comment of %s starts with %q: start it with `Command`, and the name", p.dir, strings.Fields(p.doc)[0])
	default:
		return fmt.Sprintf("the doc comment of %s starts with %q: start it with `Package %s`", p.dir, strings.Fields(p.doc)[0], p.name)
	}
}

// TestPackagesHaveDocComments is about the packages of all modules. In the root module, the linter revive is about every exported
// identifier as well.
func TestPackagesHaveDocComments(t *testing.T) {
	for _, p := range packages(t) {
		if sentence := undocumented(p); sentence != "" {
			t.Error(sentence)
		}
	}
	for _, test := range []struct {
		p    goPackage
		want string
	}{
		{goPackage{dir: "a", name: "a", doc: "Package a is good.\n"}, ""},
		{goPackage{dir: "a", name: "main", doc: "Command a is good.\n"}, ""},
		{goPackage{dir: "a", name: "a", generated: true}, ""},
		{goPackage{dir: "a", name: "a"}, "a has no doc comment: "},
		{goPackage{dir: "a", name: "a", doc: "A package.\n"}, "the doc comment of a starts with \"A\": start it with `Package a`"},
		{goPackage{dir: "a", name: "main", doc: "Package main is a command.\n"}, ""},
		{goPackage{dir: "a", name: "main", doc: "Program a is good.\n"}, "the doc comment of a starts with \"Program\": start it with `Command`"},
	} {
		if got := undocumented(test.p); test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: got %q, expected %q", test.p, got, test.want)
		}
	}
}

// TestMapHasEveryRoom compares the map in docs/architecture.md with the directories.
func TestMapHasEveryRoom(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/architecture.md"), "\n## What is in which directory\n")
	if !found {
		t.Fatal(`docs/architecture.md has no heading "What is in which directory"`)
	}
	var named []string
	for _, quoted := range regexp.MustCompile("`((?:docs|e2e|kind|operator|scripts|tutorial)[a-z0-9/]*)/`").FindAllStringSubmatch(table, -1) {
		named = append(named, quoted[1])
		if _, err := os.Stat(filepath.Join(repository, quoted[1])); err != nil {
			t.Errorf("the map in docs/architecture.md names a directory that does not exist: %v", err)
		}
	}
	room := regexp.MustCompile(`^(e2e|kind|tutorial/internal)/[^/]+`)
	for _, p := range packages(t) {
		dir := room.FindString(p.dir)
		isNamed := func(name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
		if dir != "" && !slices.ContainsFunc(named, isNamed) {
			t.Errorf("the map in docs/architecture.md has no row for %s", dir)
		}
	}
}
