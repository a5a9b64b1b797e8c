package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/e2e/tier/tree"
	"github.com/example/operator-testbed/scripts/runner/git"
)

// repository is the root of this repository.
const repository = "../../.."

// TestPlans builds each plan as it is called, and looks at what its parts need.
func TestPlans(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	for name, requests := range map[string][]Request{
		"test":     {{}, {Stage: "03-controller"}, {Stage: "19-finished"}},
		"e2e":      {{Cluster: "kind"}, {Cluster: "embedded"}, {Cluster: "existing"}, {Cluster: "kind", Stage: "08-deployment"}},
		"e2e-all":  {{Cluster: "kind"}, {Cluster: "embedded"}, {Cluster: "kind", Stage: "08-deployment"}},
		"e2e-sdk":  {{Cluster: "kind"}},
		"test-all": {{}},
		"rest":     {{}},
		"nightly":  {{}},
		"ci":       {{}},
	} {
		for _, request := range requests {
			request.Root = root
			p, err := For(name, request, nil)
			if err != nil {
				t.Errorf("%s %+v: %v", name, request, err)
				continue
			}
			if len(p.Parts) == 0 {
				t.Errorf("%s %+v has no parts", name, request)
			}
			for _, part := range p.Parts {
				if info, err := os.Stat(filepath.Join(root, part.Dir)); err != nil || !info.IsDir() {
					t.Errorf("%s %+v: %q runs in %q, which is not a directory: %v", name, request, part.Name, part.Dir, err)
				}
				if part.Tests == nil {
					continue
				}
				if len(part.Tests.Packages) == 0 {
					t.Errorf("%s %+v: %q has no packages", name, request, part.Name)
				}
				for _, pattern := range part.Tests.Packages {
					directory, _, _ := strings.Cut(pattern, "/...")
					if _, err := os.Stat(filepath.Join(root, part.Dir, directory)); err != nil {
						t.Errorf("%s %+v: %q has the package %q: %v", name, request, part.Name, pattern, err)
					}
				}
				if i := slices.IndexFunc(part.Tests.Flags, func(flag string) bool { return strings.HasPrefix(flag, "-timeout") }); i >= 0 {
					t.Errorf("%s %+v: %q has a time limit: leave %s out, because the watchdog stops what hangs", name, request, part.Name, part.Tests.Flags[i])
				}
			}
		}
	}
	if _, err := For("nothing", Request{}, nil); err == nil || err.Error() != "there is no plan nothing: use one of ci, e2e, e2e-all, e2e-sdk, nightly, rest, test, test-all" {
		t.Errorf("an unknown plan: %v", err)
	}
}

// SDK=yes is refused with a value that it would ignore.
func TestSDKIsAboutKind(t *testing.T) {
	for _, request := range []Request{{Cluster: "embedded"}, {Cluster: "kind", Stage: "08-deployment"}} {
		if _, err := For("e2e-sdk", request, nil); err == nil || !strings.HasPrefix(err.Error(), "SDK=yes is about kind") {
			t.Errorf("%+v: %v", request, err)
		}
	}
}

// planned returns a plan of this repository.
func planned(t *testing.T, name string) Plan {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	p, err := For(name, Request{Root: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runs reports whether a part runs a test.
func (p Part) runs(test tree.Test) bool {
	module := filepath.ToSlash(filepath.Clean(filepath.Join(".", p.Dir)))
	if p.Tests == nil || module != test.Module {
		return false
	}
	pkg := "."
	if test.Dir != test.Module {
		pkg = "./" + strings.TrimPrefix(test.Dir, strings.TrimPrefix(module+"/", "./"))
	}
	if !slices.Contains(p.Tests.Packages, pkg) {
		return false
	}
	for _, flag := range p.Tests.Flags {
		if pattern, found := strings.CutPrefix(flag, "-run="); found {
			return regexp.MustCompile(pattern).MatchString(test.Name)
		}
	}
	return true
}

// TestEachTestHasItsPart looks for the part that runs each test, in the plan of its tier. In nightly runs, the suites run again, with
// other seeds, and with every feature on kind.
func TestEachTestHasItsPart(t *testing.T) {
	tests, err := tree.Read(repository)
	if err != nil {
		t.Fatal(err)
	}
	plans := map[string]Plan{"test": planned(t, "test"), "all": planned(t, "rest"), "nightly": planned(t, "nightly")}
	for _, test := range tests {
		if test.Tier == "e2e" || test.Module == "docs/example" { // the kind clusters' plan, and a page
			continue
		}
		var parts []string
		for _, part := range plans[test.Tier].Parts {
			if part.Name != "suites" && !strings.HasPrefix(part.Name, "kind-") && part.runs(test) {
				parts = append(parts, part.Name)
			}
		}
		if len(parts) != 1 {
			t.Errorf("%s belongs to %s, whose parts %q run it: expected exactly one", test, summary.Command(test.Tier), parts)
		}
	}
}

// TestAllIsTestAndTheRest compares the parts of make test-all with those of the two halves: all of them, and none twice.
func TestAllIsTestAndTheRest(t *testing.T) {
	want := slices.Concat(planned(t, "test").names(), planned(t, "rest").names())
	got := planned(t, "test-all").names()
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("make test-all has the parts %q, expected %q", got, want)
	}
}

// TestNightly looks at what nightly runs must not have in common with others: a seed that is always the same, and results that are
// remembered.
func TestNightly(t *testing.T) {
	t.Setenv("TESTBED_SEED", "")
	_ = os.Unsetenv("TESTBED_SEED")
	seed := func() string { return "TESTBED_SEED=" + time.Now().UTC().Format("20060102") }
	before := seed()
	p := planned(t, "nightly")
	if after := seed(); !slices.Contains(p.Env, before) && !slices.Contains(p.Env, after) { // a day may end meanwhile
		t.Errorf("the environment is %q, expected %s in it", p.Env, after)
	}
	mutation := ""
	for _, part := range p.Parts {
		switch {
		case part.Tests != nil && !slices.Contains(part.Tests.Flags, "-count=1"):
			t.Errorf("%s takes results from Go's cache: add -count=1", part.Name)
		case slices.Contains(part.Command, "scripts/mutants") && !slices.Contains(part.Command, "-alone"):
			t.Errorf("%s takes kills from the cache: add -alone", part.Name)
		case strings.HasPrefix(part.Name, "mutation-"):
			mutation += " " + strings.TrimPrefix(part.Command[2], "ONLY=")
		}
	}
	packages, err := operatorPackages(repository)
	if err != nil || len(packages) < 8 {
		t.Fatalf("the operator's packages: %q, %v", packages, err)
	}
	for _, pkg := range packages {
		count := 0
		for pattern := range strings.FieldsSeq(mutation) {
			if regexp.MustCompile(pattern).MatchString(pkg) {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%d parts change %s, expected one: %s", count, pkg, mutation)
		}
	}
	if proving := p.Proving(); slices.Contains(proving, kubernetes) || slices.Contains(proving, "images") || !slices.Contains(proving, "soak") {
		t.Errorf("the parts that prove something are %q", proving)
	}
}

func TestCheck(t *testing.T) {
	nothing := func(context.Context, io.Writer) error { return nil }
	for want, parts := range map[string][]Part{
		"": {{Name: "a", Do: nothing}, {Name: "b", Needs: []string{"a"}, Command: []string{"true"}}},
		`plan p: the name "a" of a part is not unique`:                   {{Name: "a", Do: nothing}, {Name: "a", Do: nothing}},
		`plan p: the name "" of a part is not unique`:                    {{Do: nothing}},
		`plan p: part "a" has 2 of Command, Tests and Do, and needs one`: {{Name: "a", Do: nothing, Tests: &Tests{}}},
		`plan p: part "a" has 0 of Command, Tests and Do, and needs one`: {{Name: "a"}},
		`plan p: part "a" needs "b", which no part before it is called`:  {{Name: "a", Needs: []string{"b"}, Do: nothing}, {Name: "b", Do: nothing}},
	} {
		got := ""
		if err := (Plan{Name: "p", Parts: parts}).check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}

// TestOnly chooses parts, which brings along those that they need.
func TestOnly(t *testing.T) {
	p := Plan{Name: "p", Parts: []Part{{Name: "a"}, {Name: "b", Needs: []string{"a"}}, {Name: "c"}, {Name: "d", Needs: []string{"b"}}}}
	for _, test := range []struct{ only, want []string }{
		{nil, []string{`"a"`, `"b"`, `"c"`, `"d"`}},
		{[]string{"d"}, []string{`"a"`, `"b"`, `"d"`}},
		{[]string{"c", "a"}, []string{`"a"`, `"c"`}},
	} {
		got, err := p.only(test.only)
		if err != nil || !slices.Equal(got.names(), test.want) || got.Partial != (test.only != nil) {
			t.Errorf("of %q: got %q, %v, expected %q", test.only, got.names(), err, test.want)
		}
	}
	if _, err := p.only([]string{"e"}); err == nil || err.Error() != `p has no part "e": use one of "a", "b", "c", "d"` {
		t.Errorf("an unknown part: %v", err)
	}
}

// write writes files, by name.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindStage(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"tutorial/04-a/chapter.yaml":    "title: A\n",
		"tutorial/12-last/chapter.yaml": "title: B\noperator: operator\nsuite: e2e/memcached\n",
	})
	for name, want := range map[string]stage{
		"04-a":    {"tutorial/04-a", "tutorial/04-a/test/e2e"},
		"12-last": {"operator", "e2e/memcached"},
	} {
		if got, err := findStage(root, name); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; expected %+v", name, got, err, want)
		}
	}
	if _, err := findStage(root, "05-b"); err == nil || !strings.HasPrefix(err.Error(), "there is no chapter 05-b: use ") {
		t.Errorf("an unknown chapter: %v", err)
	}
}

// TestTested finds the packages that go list says have tests.
func TestTested(t *testing.T) {
	directories := []string{"tutorial/11-admission", "tutorial/11-admission/test/e2e"}
	got, err := tested(repository, directories...)
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}`,
		"./"+directories[0]+"/...", "./"+directories[1])
	list.Dir = repository
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range strings.FieldsSeq(string(out)) {
		want = append(want, strings.Replace(name, "github.com/example/operator-testbed", ".", 1))
	}
	slices.Sort(want)
	if want = slices.Compact(want); len(want) < 3 || !slices.Equal(got, want) {
		t.Errorf("got %q, and go list says %q", got, want)
	}
}

// TestContained writes packages whose tests start programs in every way, and one whose tests start none.
func TestContained(t *testing.T) {
	root := t.TempDir()
	const imports = "package p\n\nimport _ \"github.com/example/operator-testbed/"
	for file, text := range map[string]string{
		"none/a.go": "package none\n", "none/a_test.go": "package none\n\nimport _ \"os\"\n",
		"code/a.go":      "package code\n\nimport \"os/exec\"\n",
		"test/a_test.go": "package test\n\nimport \"os/exec\"\n",
		"calls/a.go":     "package calls\n\nimport \"syscall\"\n\nvar _ = syscall.Exec(\"a\", nil, nil)\n",
		"envtest/a.go":   "package p\n\nimport _ \"sigs.k8s.io/controller-runtime/pkg/envtest\"\n",
		"import/a.go":    imports + "code\"\n", "import/a_test.go": "package p\n",
		"deeper/a_test.go": imports + "import\"\n",
		"helper/a.go":      imports + "test\"\n", // the tests of what it imports are not its own
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755), os.WriteFile(filepath.Join(root, file), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := contained(root, []string{"./none", "./code", "./test", "./calls", "./envtest", "./import", "./deeper", "./helper"})
	if want := []string{"./none", "./helper"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, expected %q", got, err, want)
	}
}

// TestChecksOfTheTree commits files, and changes the working tree.
func TestChecksOfTheTree(t *testing.T) {
	root := t.TempDir()
	run := func(arguments ...string) {
		t.Helper()
		if _, err := git.Output(t.Context(), root, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(check func(context.Context, io.Writer) error, want string) {
		t.Helper()
		var out bytes.Buffer
		err := check(t.Context(), &out)
		got := out.String()
		if err != nil {
			got += err.Error()
		}
		if got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
	run("init", "--quiet")
	write(t, root, map[string]string{"a.go": "package a\n"})
	run("add", "--all")
	run("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a")
	expect(nothingChanged(root), "")
	expect(noBinary(root), "")
	write(t, root, map[string]string{"a binary": strings.Repeat("x", largest+1)})
	expect(nothingChanged(root), "?? \"a binary\"\nthe working tree is not what was committed")
	expect(noBinary(root), "")
	run("add", "--all")
	expect(noBinary(root), "a binary\nthese files are larger than 1 MB, as no source is")
}

// TestNothingLeft looks for processes and files of clusters.
func TestNothingLeft(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := emptyState(state)(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	write(t, state, map[string]string{"cluster/kubeconfig": ""})
	var out bytes.Buffer
	if err := nothingLeft(state)(t.Context(), &out); err == nil || out.String() != filepath.Join(state, "cluster", "kubeconfig")+"\n" {
		t.Errorf("a file is left: %v, %s", err, &out)
	}
	running := exec.CommandContext(t.Context(), "sh", "-c", "read line", state)
	if _, err := running.StdinPipe(); err != nil { // it reads until it is killed
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d sh -c read line %s\n", running.Process.Pid, state)
	out.Reset()
	if err := emptyState(state)(t.Context(), &out); err == nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("a process is left: %v, %s", err, &out)
	}
	_ = running.Process.Kill()
	_ = running.Wait()
	if err := emptyState(state)(t.Context(), io.Discard); err != nil {
		t.Errorf("only files are left: %v", err)
	}
	if err := nothingLeft(state)(t.Context(), io.Discard); err != nil {
		t.Errorf("nothing is left: %v", err)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
	// Go's cache holds a test's result only for the same environment.
	if one, two := stateOfCI("/a"), stateOfCI("/a"); one != two || one == stateOfCI("/b") {
		t.Errorf("the state of /a is in %s and %s, and that of /b in %s", one, two, stateOfCI("/b"))
	}
}

// TestClustersFor wants fewer clusters where memory is short, or where something else keeps the cores busy.
func TestClustersFor(t *testing.T) {
	for _, c := range []struct {
		free int
		idle float64
		want int
	}{
		{20, 2, 2}, {20, 1.9, 2}, {20, 0.1, 1}, {20, 1.2, 1}, {8, 4, 2}, {5, 4, 1}, {20, 8, 3}, {0, 0, 1},
	} {
		if got := clustersFor(c.free, c.idle); got != c.want {
			t.Errorf("with %d GiB and %.1f idle cores: %d clusters, expected %d", c.free, c.idle, got, c.want)
		}
	}
}

func TestIdleShare(t *testing.T) {
	const before = "cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2 3\n"
	for after, want := range map[string]float64{
		"cpu  150 0 100 850 100 0 0 0 9 0\n": 0.5, // 100 of 200
		"cpu  200 0 150 800 50 0 0 0 7 0\n":  0,
		"cpu  100 0 50 900 50 0 0 0 7 0\n":   1,
	} {
		if got, err := idleShare(before, after); err != nil || got != want {
			t.Errorf("after %q: got %v, %v, expected %v", after, got, err, want)
		}
	}
	for _, after := range []string{before, "", "intr 1 2 3 4 5 6\n", "cpu  one 2 3 4 5 6\n"} {
		if _, err := idleShare(before, after); err == nil {
			t.Errorf("after %q: expected an error", after)
		}
	}
}

// TestEngineIsStoppedFirst has a machine without a container engine: the one that .ci/run starts is stopped before it looks for what is left.
func TestEngineIsStoppedFirst(t *testing.T) {
	t.Parallel()
	at := func(p Plan, name string) int {
		return slices.IndexFunc(p.Parts, func(part Part) bool { return part.Name == name })
	}
	without := landing(Request{Root: t.TempDir()}, false)
	up, e2e, down, left := at(without, "an engine for containers"), at(without, "make e2e"), at(without, "no engine for containers"), at(without, "nothing is left running")
	if up < 0 || up > e2e || e2e > down || down > left {
		t.Errorf("the engine starts at %d, make e2e at %d, the engine stops at %d, and what is left is looked for at %d", up, e2e, down, left)
	}
	if with := landing(Request{Root: t.TempDir()}, true); at(with, "an engine for containers") >= 0 || at(with, "no engine for containers") >= 0 {
		t.Errorf("the machine has an engine, and these are the parts: %+v", with.Parts)
	}
}
