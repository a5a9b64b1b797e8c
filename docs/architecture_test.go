// Package docs_test keeps true what the documentation promises.
package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/example/operator-testbed"

// mayImport says, for each directory of the repository, what its packages may import of this module, and why not more. The arrows
// point one way: tutorial -> e2e -> operator/api. Of kind, e2e imports the package that says where files are; the rest
// is commands to run.
var mayImport = map[string]struct {
	directories []string
	why         string
}{
	"operator": {[]string{"operator"}, "the operator does not depend on its tests, on chapters or on where it runs"},
	"e2e":      {[]string{"e2e", "operator/api", "kind/home"}, "e2e sees of the operator what its users see, and nothing of chapters"},
	"tutorial": {[]string{"tutorial", "e2e", "operator/api"}, "a chapter is a whole operator of its own, tested with e2e"},
	"docs":     {[]string{"docs", "operator/api", "e2e/mutant", "e2e/markdown"}, "the documentation is checked against the API and the suite's mutants alone"},
	"kind":     {[]string{"kind"}, "what a cluster is made of does not depend on what runs on it"},
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// wrongImports returns a sentence for each import that the arrows forbid.
func wrongImports(packages []goPackage) []string {
	var wrong []string
	for _, p := range packages {
		path, ours := within(p.ImportPath)
		if !ours {
			continue
		}
		directory, _, _ := strings.Cut(path, "/")
		rule, known := mayImport[directory]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s is in a directory without a rule: add %s to mayImport in docs/architecture_test.go, with what it may import", path, directory))
			continue
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			target, ours := within(imported)
			if ours && !slices.ContainsFunc(rule.directories, func(allowed string) bool {
				return target == allowed || strings.HasPrefix(target, allowed+"/")
			}) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, but of this module %s imports %s only: %s",
					path, target, directory, strings.Join(rule.directories, ", "), rule.why))
			}
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// within returns an import path relative to this module, and whether it is in it.
func within(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, module+"/")
}

func TestArrowsPointOneWay(t *testing.T) {
	for _, platform := range []string{"linux", "darwin"} {
		for _, sentence := range wrongImports(list(t, platform)) {
			t.Error(sentence)
		}
	}
}

// list returns the module's packages as they are on a platform.
func list(t *testing.T, platform string) []goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	command.Env = append(os.Environ(), "GOOS="+platform)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatalf("%s: it names no package", command)
	}
	return packages
}

func TestWrongImportsAreNamed(t *testing.T) {
	in := func(directory string) string { return module + "/" + directory }
	for _, test := range []struct {
		name string
		p    goPackage
		want string // the start of the sentence; empty if the import is allowed
	}{
		{"the API", goPackage{ImportPath: in("e2e/framework"), Imports: []string{"os", in("operator/api/v1alpha1"), in("e2e/cluster")}}, ""},
		{"another module", goPackage{ImportPath: in("operator/cmd"), Imports: []string{"k8s.io/e2e", module + "s/e2e"}}, ""},
		{"a chapter", goPackage{ImportPath: in("tutorial/04-controller"), XTestImports: []string{in("e2e/framework"), in("tutorial/internal/chapter")}}, ""},
		{"the operator tests itself", goPackage{ImportPath: in("operator/api"), TestImports: []string{in("e2e")}}, "operator/api imports e2e, but of this module operator imports operator only: "},
		{"behind the API", goPackage{ImportPath: in("e2e/demo"), Imports: []string{in("operator/internal/controller")}}, "e2e/demo imports operator/internal/controller, but "},
		{"a name with the same prefix", goPackage{ImportPath: in("e2e/demo"), Imports: []string{in("operator/apis")}}, "e2e/demo imports operator/apis, but "},
		{"a chapter's package", goPackage{ImportPath: in("e2e/markdown"), XTestImports: []string{in("tutorial/internal/chapter")}}, "e2e/markdown imports tutorial/internal/chapter, but "},
		{"e2e and chapters", goPackage{ImportPath: in("e2e/framework"), Imports: []string{in("tutorial/internal/mutant")}}, "e2e/framework imports tutorial/internal/mutant, but "},
		{"commands to run", goPackage{ImportPath: in("tutorial/cmd/lab"), Imports: []string{in("kind/kubernetes/internal/store")}}, "tutorial/cmd/lab imports kind/kubernetes/internal/store, but "},
		{"a new directory", goPackage{ImportPath: in("web/server")}, "web/server is in a directory without a rule: add web to mayImport"},
	} {
		got := wrongImports([]goPackage{test.p})
		switch {
		case test.want == "" && len(got) > 0, test.want != "" && len(got) != 1, len(got) == 1 && !strings.HasPrefix(got[0], test.want):
			t.Errorf("%s: got %q, expected %q", test.name, got, test.want)
		}
	}
}
