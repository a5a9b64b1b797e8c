package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the places in this repository that start processes execute.
const (
	// foreign is the only place that executes a program which was not built from this repository, or by the one who runs it. It confines
	// the program first.
	foreign = "any program, such as a submission or an operator from an image, confined"
	// underTest is an operator: runner.Replica.confine makes it a confined one unless it is the caller's own.
	underTest = "the operator under test: the caller's own or, for any other, this program, which confines it"
	// walled is what reads the files of a submission.
	walled = "a command in a cell: the grader's suite, or the Go command or kustomize, with what a submission contains"

	system  = "a program of the system, such as git, ps, docker or a shell"
	goTool  = "the Go command, on this repository or on a copy of an operator that belongs to the caller"
	again   = "this program again"
	ours    = "a program or script of this repository, or of a module that its go.mod files pin"
	users   = "what the user types, or the Makefile of the user's own operator"
	fixture = "a program whose source belongs to the test"
)

// executions are the places that start processes, with what they execute: "FILE FUNCTION" in code, and "FILE" in tests. Before you add one,
// make sure that nothing of a submission or of a foreign operator can choose what it executes.
var executions = map[string]string{
	"e2e/confinement/become_linux.go become":                 foreign,
	"e2e/confinement/confinement.go unconfined":              foreign + ", except on a platform that can confine none, where the caller allows that",
	"e2e/confinement/confinement.go parse":                   "nothing: it removes variables with the same name",
	"e2e/framework/execute.go Scope.Execute":                 underTest + ", or the tests that were handed in with it, confined in the same way",
	"e2e/framework/runner/process.go process":                underTest,
	"tutorial/internal/isolation/init_linux.go cellMain":     walled,
	"tutorial/internal/isolation/other.go Walls.start":       walled + ", without one on platforms that have none",
	"tutorial/internal/isolation/start_linux.go Walls.start": again + ", as the first process of a cell, or bubblewrap or docker to build one",
	"tutorial/internal/submission/repository.go reader.run":  system + ", which reads a submitted repository: with a configuration and an environment that let it run nothing from there",

	"e2e/bench/cputime_darwin.go CPUTime":                             system,
	"e2e/bench/memory.go ResidentMemory":                              system,
	"e2e/bench/tree_darwin.go listProcesses":                          system,
	"e2e/cluster/embedded/flags.go process":                           ours,
	"e2e/cluster/internal/gorun/assemble.go download":                 goTool,
	"e2e/cluster/internal/gorun/gorun.go line":                        goTool,
	"e2e/cluster/internal/gorun/root.go Root":                         goTool,
	"e2e/cluster/kind/docker.go docker":                               system,
	"e2e/cluster/kind/kindtest/memcached.go MemcachedArchive":         system,
	"e2e/cluster/supervisor/child.go child.spawn":                     "a supervisor.Process: each place that makes one is in this list",
	"e2e/cluster/supervisor/leftover/leftover.go processes":           system,
	"e2e/cluster/supervisor/supervisor.go start":                      again,
	"e2e/cluster/supervisor/traceable_linux.go init":                  "a supervisor.Process that is the caller's own: runner.Replica.confine lets no other be traced",
	"e2e/cmd/testbed/conformance.go runPoints":                        ours,
	"e2e/cmd/testbed/internal/doctor/engine.go askEngine":             system,
	"e2e/cmd/testbed/internal/doctor/gather.go goSettings":            goTool,
	"e2e/cmd/testbed/internal/doctor/gather.go output":                system,
	"e2e/cmd/testbed/internal/operator/debugger.go Foreground.attach": ours,
	"e2e/cmd/testbed/kind.go newKindWith":                             users,
	"e2e/cmd/testbed/pool.go newPoolWith":                             users,
	"e2e/framework/inputs/inputs.go Set.AddProgram":                   goTool,
	"e2e/framework/kubectl.go Scope.Kubectl":                          ours,
	"e2e/framework/runner/build.go compile":                           goTool,
	"e2e/framework/runner/deploy.go BuildImage":                       users,
	"e2e/framework/runner/pods.go Replica.podProcess":                 again,
	"e2e/helm/helm.go Helm.Run":                                       ours,
	"e2e/sdk/root_linux.go start":                                     ours + ", with a temporary directory as its root",
	"e2e/sdk/sdk.go Tools.Run":                                        ours,
	"e2e/markdown/copy.go git":                                        system,
	"e2e/markdown/session.go session.end":                             ours,
	"e2e/markdown/terminal.go openTerminal":                           system + ", for the commands in this repository's pages",
	"e2e/reaper/guard.go guarded.clean":                               again + ", or another one of this repository, to clean up",
	"e2e/reaper/processes.go listed":                                  system,
	"e2e/reaper/reaper.go Start":                                      again,
	"e2e/mutant/apply.go Mutant.patch":                                system,
	"e2e/mutant/run.go Suite.Run":                                     ours,
	"kind/build/program/program.go Program.Output":                    goTool,
	"e2e/host/bundle/contents.go output":                              system,
	"e2e/host/bundle/unpack.go load":                                  system,
	"kind/docker/capabilities.go wrapRuntime":                         system,
	"kind/docker/engine.go engine.start":                              system,
	"kind/docker/engine.go output":                                    system,
	"kind/docker/machine.go install":                                  system,
	"operator/hack/multiarch/platforms.go architecturesOf":            goTool,
	"scripts/runner/git/git.go Output":                                system,
	"scripts/runner/plan/checks.go browser":                           system,
	"scripts/runner/plan/repository.go freeMemory":                    system,
	"scripts/runner/plan/repository.go hasEngine":                     system,
	"scripts/runner/process/guard.go NewGuard":                        again,
	"scripts/runner/process/guard.go become":                          "a command that a Makefile, a script or scripts/runner/plan names",
	"scripts/runner/process/job.go Guard.Start":                       again + ", which becomes the command",
	"scripts/runner/process/list_other.go List":                       system,
	"operator/internal/testenv/killed.go endWithTests":                system + ": a shell that waits for the end of the tests",
	"scripts/tools/mutation/gocommand.go command":                     goTool,
	"scripts/tools/mutation/gocommand.go endProcesses":                system,
	"scripts/tools/mutation/gremlins.go gremlins.run":                 ours,
	"scripts/tools/typecheck/list.go list":                            goTool,
	"tutorial/browser/axe.go packAxe":                                 system,
	"tutorial/lab/grade.go graderCommit":                              system,
	"tutorial/lab/learn.go commandLine.run":                           ours,
	"tutorial/lab/publish.go writePages":                              again,
	"tutorial/internal/chapter/diff.go GitDiff":                       system,
	"tutorial/internal/check/check.go Run":                            ours,
	"tutorial/internal/class/handout.go commit":                       system,
	"tutorial/internal/class/new.go keptOutOfGit":                     system,
	"tutorial/internal/class/smalldisk/namespace_linux.go Namespace":  again,
	"tutorial/internal/eject/eject.go Options.known":                  system,
	"tutorial/internal/eject/module.go Options.needed":                goTool,
	"tutorial/internal/exercises/stale.go stale":                      users,
	"tutorial/internal/grade/grading/chapter.go buildExtra":           goTool + ", with the teacher's tests",
	"tutorial/internal/grade/grading/chapter.go toolchain":            goTool,
	"tutorial/internal/hugo/run.go Site.output":                       ours,
	"tutorial/internal/hugo/run.go run":                               ours,
	"tutorial/internal/isolation/start_linux.go ensureImage":          system,
	"tutorial/internal/isolation/start_linux.go process.root":         system,
	"tutorial/internal/isolation/start_linux.go process.wait":         system,

	"docs/claims_test.go":                                   goTool,
	"docs/line_endings_test.go":                             system,
	"docs/pins_test.go":                                     system,
	"docs/release_test.go":                                  system,
	"docs/settings_test.go":                                 system,
	"e2e/bench/tree_linux_test.go":                          system,
	"e2e/cluster/embedded/reset_test.go":                    system,
	"e2e/cluster/embedded/version_test.go":                  ours,
	"e2e/cluster/internal/gorun/assemble_test.go":           goTool,
	"e2e/cluster/internal/gorun/gorun_test.go":              again,
	"e2e/cluster/kind/life_test.go":                         again,
	"e2e/cluster/pool/main_test.go":                         again,
	"e2e/cluster/pool/pool_test.go":                         system,
	"e2e/cluster/supervisor/attach_test.go":                 system,
	"e2e/cluster/supervisor/inspect_test.go":                system,
	"e2e/cluster/supervisor/life_test.go":                   again,
	"e2e/cluster/supervisor/main_test.go":                   again,
	"e2e/cluster/supervisor/process_test.go":                again,
	"e2e/cluster/supervisor/state_test.go":                  system,
	"e2e/cmd/testbed/existing_test.go":                      ours,
	"e2e/cmd/testbed/life_test.go":                          ours,
	"e2e/cmd/testbed/machine_test.go":                       ours,
	"e2e/cmd/testbed/main_test.go":                          goTool,
	"e2e/confinement/confinement_test.go":                   again,
	"e2e/conformance/sample_test.go":                        again,
	"e2e/executable/executable_test.go":                     "true, and an empty script",
	"e2e/framework/inputs/inputs_test.go":                   fixture,
	"e2e/framework/labels_test.go":                          again,
	"e2e/framework/report_test.go":                          again,
	"e2e/framework/reporter_test.go":                        again,
	"e2e/framework/runner/build_test.go":                    fixture,
	"e2e/framework/runner/ready_internal_test.go":           fixture,
	"e2e/framework/suite_test.go":                           again,
	"e2e/interrupt/interrupt_test.go":                       again,
	"e2e/memcached/alerts_test.go":                          ours,
	"e2e/memcached/install_test.go":                         ours,
	"e2e/markdown/killed_test.go":                           again,
	"e2e/mutant/prepare_test.go":                            fixture,
	"e2e/reaper/processes_internal_test.go":                 "a shell, with a script that executes itself",
	"e2e/reaper/reaper_test.go":                             again + ", and fixtures that must be ended",
	"e2e/mutant/schemata/schemata_test.go":                  fixture,
	"e2e/multiarch/buildx_test.go":                          ours,
	"e2e/tier/tier_test.go":                                 again,
	"kind/build/assets/assets_test.go":                      fixture,
	"kind/build/command/command_test.go":                    again,
	"kind/build/command/lifeline_test.go":                   again,
	"kind/build/internal/download/download_test.go":         again,
	"kind/build/internal/recipe/recipe_test.go":             goTool,
	"kind/build/internal/release/release_test.go":           goTool,
	"e2e/host/bundle/fetch_test.go":                         again,
	"e2e/host/gocommand/gocommand_test.go":                  fixture,
	"kind/kubernetes/main_test.go":                          goTool,
	"operator/cmd/installed_test.go":                        ours,
	"operator/cmd/main_test.go":                             again,
	"operator/faults_test.go":                               again,
	"operator/generated_test.go":                            ours,
	"operator/internal/testenv/testenv_test.go":             again,
	"operator/manifests_test.go":                            ours,
	"e2e/sdk/catalog_test.go":                               ours,
	"e2e/sdk/pods_test.go":                                  ours + ": a program for an image",
	"e2e/sdk/tools_test.go":                                 ours + ": make, in a copy of the operator",
	"scripts/release/vulncheck_test.go":                     ours,
	"scripts/runner/main_test.go":                           again,
	"scripts/runner/plan/plan_test.go":                      system + ", or the Go command",
	"scripts/runner/process/process_test.go":                again,
	"scripts/runner/script_test.go":                         ours,
	"scripts/tools/mutation/mutation_test.go":               goTool,
	"tutorial/browser/axe_test.go":                          again,
	"tutorial/browser/board_test.go":                        again,
	"tutorial/browser/learn_test.go":                        ours,
	"tutorial/browser/site_test.go":                         ours,
	"tutorial/lab/class_test.go":                            ours,
	"tutorial/lab/learn_test.go":                            again,
	"tutorial/lab/real_test.go":                             ours,
	"tutorial/lab/real_walls_test.go":                       ours,
	"tutorial/lab/watch_test.go":                            again,
	"tutorial/internal/class/class_test.go":                 system,
	"tutorial/internal/eject/eject_test.go":                 ours,
	"tutorial/internal/exercises/exercises_test.go":         ours,
	"tutorial/internal/exercises/makefile_test.go":          ours,
	"tutorial/internal/exercises/typing_test.go":            ours,
	"tutorial/internal/grade/build/build_test.go":           fixture,
	"tutorial/internal/grade/classroom/proof_test.go":       system,
	"tutorial/internal/isolation/container_linux_test.go":   system,
	"tutorial/internal/isolation/endtoend/endtoend_test.go": again,
	"tutorial/internal/isolation/walls_linux_test.go":       fixture,
	"tutorial/internal/learn/cluster_test.go":               ours,
	"tutorial/internal/site/site_test.go":                   system,
	"tutorial/internal/site/translations_test.go":           system,
	"tutorial/internal/submission/submission_test.go":       system,
	"tutorial/internal/trial/trial_test.go":                 ours,
	"tutorial/18-operator-sdk/test/onkind/images_test.go":   ours + ": kubectl",
	"tutorial/18-operator-sdk/test/twins/twins_test.go":     goTool + ", git to break a chart and a role",
}

// starting are the functions and variables that start a process or replace this one, by package.
var starting = map[string][]string{
	"os/exec":               {"Command", "CommandContext"},
	"os":                    {"StartProcess"},
	"syscall":               {"Exec", "ForkExec", "StartProcess", "SYS_EXECVE"},
	"golang.org/x/sys/unix": {"Exec", "SYS_EXECVE"},
	"plugin":                {"Open"},
}

// startingTypes are the types of which a value says what to execute.
var startingTypes = map[string][]string{
	"os/exec":                          {"Cmd"},
	module + "/e2e/cluster/supervisor": {"Process"},
}

// startingPackages are packages whose functions execute commands.
var startingPackages = []string{"github.com/vladimirvivien/gexe", "github.com/onsi/gomega/gexec", "sigs.k8s.io/e2e-framework/support/utils"}

// executionsIn returns the places of a file that start processes, in the form of executions.
func executionsIn(file string, parsed *ast.File) []string {
	names := map[string]string{} // import paths by the names that the file gives them
	var found []string
	place := func(function string) {
		if strings.HasSuffix(file, "_test.go") {
			found = append(found, file)
		} else {
			found = append(found, file+" "+function)
		}
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
		if name == "." && (starting[imported] != nil || startingTypes[imported] != nil) || slices.ContainsFunc(startingPackages, func(p string) bool {
			return imported == p || strings.HasPrefix(imported, p+"/")
		}) {
			place("import " + imported)
		}
	}
	isOne := func(of map[string][]string, node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		name, ok := selector.X.(*ast.Ident)
		return ok && slices.Contains(of[names[name.Name]], selector.Sel.Name)
	}
	for _, declaration := range parsed.Decls {
		function := nameOf(declaration)
		ast.Inspect(declaration, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				if isOne(starting, node) {
					place(function)
				}
			case *ast.CompositeLit:
				if isOne(startingTypes, node.Type) {
					place(function)
				}
			case *ast.CallExpr:
				if called, ok := node.Fun.(*ast.Ident); ok && called.Name == "new" && len(node.Args) == 1 && isOne(startingTypes, node.Args[0]) {
					place(function)
				}
			case *ast.ValueSpec:
				if node.Type != nil && isOne(startingTypes, node.Type) {
					place(function)
				}
			}
			return true
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// nameOf returns the name of a function, with its receiver's type, or "a variable".
func nameOf(declaration ast.Decl) string {
	function, ok := declaration.(*ast.FuncDecl)
	switch {
	case !ok:
		return "a variable"
	case function.Recv == nil:
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	return fmt.Sprintf("%v.%s", receiver, function.Name.Name)
}

// TestEveryExecutionIsJudged finds the places of all modules that start processes. Each is in executions, with what it executes, so that
// no new one executes a submission, or what a submission contains, past the function that confines it.
func TestEveryExecutionIsJudged(t *testing.T) {
	left := maps.Clone(executions)
	for _, file := range tracked(t) {
		// What is in testdata is a program for a test, or a part of one.
		if path.Ext(file) != ".go" || slices.Contains(strings.Split(file, "/"), "testdata") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range executionsIn(file, parsed) {
			if executions[place] == "" {
				t.Errorf("%s starts a process that is not in the list: a program that was not built from this repository goes through "+
					"e2e/confinement; for any other, add the place to executions in docs/execution_test.go, and say what it executes", place)
			}
			delete(left, place)
		}
	}
	for place := range left {
		t.Errorf("%s starts no process: remove it from executions in docs/execution_test.go", place)
	}
}

// withoutReaper are directories whose tests start processes without package reaper, and why nothing of those is left when the tests are
// killed.
var withoutReaper = map[string]string{
	"e2e/executable": "what they start ends at once",
	"e2e/interrupt":  "what they start reads a pipe of theirs",
	"e2e/reaper":     "they are killed to test it",
}

// cannotImport are modules and directories that import nothing else of e2e.
var cannotImport = []string{"e2e/host/", "kind/", "operator/", "scripts/"}

// TestWhatTestsStartEndsWithThem finds packages whose tests start processes: package reaper ends those when the tests are killed.
func TestWhatTestsStartEndsWithThem(t *testing.T) {
	reaped := map[string]bool{}
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		// The other two are e2e/framework's Suite.Run, which starts a reaper.
		for _, start := range []string{"reaper.Run(m)", "reaper.Begin()", "memcached.Run(m)", "suite.Run(m)"} {
			reaped[path.Dir(file)] = reaped[path.Dir(file)] || bytes.Contains(content, []byte(start))
		}
	}
	for place := range executions {
		directory := path.Dir(place)
		if strings.HasSuffix(place, "_test.go") && !reaped[directory] && withoutReaper[directory] == "" &&
			!slices.ContainsFunc(cannotImport, func(prefix string) bool { return strings.HasPrefix(place, prefix) }) {
			t.Errorf("%s starts processes that are left when its test is killed: call reaper.Run in the package's TestMain", place)
		}
	}
}

func TestExecutionsAreFound(t *testing.T) {
	for name, test := range map[string]struct{ file, imports, code, want string }{
		"a call":            {"a.go", `"os/exec"`, `func f() { exec.Command("a") }`, "a.go f"},
		"a method":          {"a.go", `"os/exec"`, `func (x *T) f() { exec.CommandContext(nil, "a") }`, "a.go T.f"},
		"another name":      {"a.go", `run "os/exec"`, `func f() { run.Command("a") }`, "a.go f"},
		"not called":        {"a.go", `"os/exec"`, `var start = exec.Command`, "a.go a variable"},
		"a literal":         {"a.go", `"os/exec"`, `func f() { _ = &exec.Cmd{} }`, "a.go f"},
		"new":               {"a.go", `"os/exec"`, `func f() { _ = new(exec.Cmd) }`, "a.go f"},
		"a zero value":      {"a.go", `"os/exec"`, `func f() { var c exec.Cmd; _ = c }`, "a.go f"},
		"of the supervisor": {"a.go", `"` + module + `/e2e/cluster/supervisor"`, `func f() { _ = supervisor.Process{} }`, "a.go f"},
		"StartProcess":      {"a.go", `"os"`, `func f() { os.StartProcess("a", nil, nil) }`, "a.go f"},
		"exec":              {"a.go", `"golang.org/x/sys/unix"`, `func f() { unix.Exec("a", nil, nil) }`, "a.go f"},
		"a dot":             {"a.go", `. "os/exec"`, `func f() { Command("a") }`, "a.go import os/exec"},
		"another library":   {"a.go", `"github.com/vladimirvivien/gexe"`, `func f() { gexe.Run("a") }`, "a.go import github.com/vladimirvivien/gexe"},
		"a test":            {"a_test.go", `"os/exec"`, `func f() { exec.Command("a") }`, "a_test.go"},
		"a parameter":       {"a.go", `"os/exec"`, `func f(c *exec.Cmd) error { return c.Process.Kill() }`, ""},
		"a look for one":    {"a.go", `"os/exec"`, `func f() { exec.LookPath("a") }`, ""},
		"a namesake":        {"a.go", `"example.com/exec"`, `func f() { exec.Command("a") }`, ""},
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), test.file, "package a\n\nimport "+test.imports+"\n\n"+test.code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(executionsIn(test.file, parsed), ", "); got != test.want {
			t.Errorf("%s: got %q, expected %q", name, got, test.want)
		}
	}
}
