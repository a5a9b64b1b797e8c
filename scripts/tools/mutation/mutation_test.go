package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "go" {
		os.Exit(goCommand(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// write makes files, given as name and content in turn, in a directory.
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const operator = `package main

import "fmt"

const twice = 2 * 3

func name(n int) string {
	switch {
	case n > 1:
		return "many"
	case n < 0:
		return "few" + "er"
	}
	return "one"
}

func main() { fmt.Println(name(0 - twice)) }
`

const operatorTest = `package main

import "testing"

func TestName(t *testing.T) {
	if name(2) != "many" || name(1) != "one" || name(-1) != "fewer" {
		t.Error("wrong")
	}
}
`

// TestRun covers what gremlins gets wrong with the real Go command (see goCommand): a package main, the cases of a switch,
// constants, and changes that do not compile.
func TestRun(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "module example.com/m\n\ngo 1.26\n", "go.sum", "", "docs/reference/faults.md", "",
		"operator/cmd/main.go", operator, "operator/cmd/main_test.go", operatorTest,
		"operator/api/size.go", "package api\n\nfunc Large(n int) bool { return n > 3 }\n",
		"operator/api/zz_generated.go", "package api\n\nfunc Small(n int) bool { return n < 3 }\n",
		"survivors.yaml", `
- file: operator/cmd/main.go
  type: ARITHMETIC_BASE
  code: const twice = 2 ‸* 3
  why: no test
- file: operator/cmd/main.go
  type: CONDITIONALS_BOUNDARY
  code: 'case n ‸> 1:'
  why: it is killed
- file: operator/gone/main.go
  type: CONDITIONALS_BOUNDARY
  code: 'case n ‸> 1:'
  why: there is no such package
`)
	gremlins, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "gremlins").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "")
	var output bytes.Buffer
	err = run(t.Context(), settings{root: root, gremlins: strings.TrimSpace(string(gremlins)), survivors: "survivors.yaml", workers: 2}, &output)
	for _, want := range []string{
		"| `operator/api` | 2 | 0 | 2 | 0 % |\n| `operator/cmd` | 6 | 3 | 3 | 50 % |\n| all | 8 | 3 | 5 | 37 % |\n",
		"operator/api/size.go:3:35: CONDITIONALS_BOUNDARY LIVED: no test notices",
		"operator/cmd/main.go:11:9: CONDITIONALS_BOUNDARY LIVED: no test notices",
		"code: 'case n ‸< 0:'",
		"code: 'func main() { fmt.Println(name(0 ‸- twice)) }'",
		`survivors.yaml explains CONDITIONALS_BOUNDARY in "case n ‸> 1:", which is killed or gone`,
	} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(output.String(), "const twice") || strings.Contains(output.String(), "operator/gone") {
		t.Error("the report asks for what is explained, or for a package that was not tried")
	}
	if want := "4 changes survive unexplained, and 1 explanations"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
	if t.Failed() {
		t.Log(output.String())
	}
}

// Nothing is counted as killed because the tests fail anyway.
func TestRunNeedsTestsThatPass(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "module example.com/m\n\ngo 1.26\n", "go.sum", "", "docs/reference/faults.md", "", "survivors.yaml", "",
		"operator/cmd/main.go", operator, "operator/cmd/main_test.go", strings.ReplaceAll(operatorTest, "many", "none"))
	gremlins, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "gremlins").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "")
	var output bytes.Buffer
	err = run(t.Context(), settings{root: root, gremlins: strings.TrimSpace(string(gremlins)), survivors: "survivors.yaml", workers: 1}, &output)
	if err == nil || !strings.Contains(output.String(), "FAIL: TestName") {
		t.Errorf("error = %v, want that TestName fails; it said:\n%s", err, output.String())
	}
}

func TestOnlyThatMatchesNothing(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "", "go.sum", "", "docs/reference/faults.md", "", "operator/cmd/main.go", operator, "survivors.yaml", "")
	err := run(t.Context(), settings{root: root, only: "nothing", survivors: "survivors.yaml"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "no package of the operator matches -only=nothing") {
		t.Errorf("error = %v", err)
	}
}

func TestScoreOfNothing(t *testing.T) {
	nothing := &score{}
	nothing.add(mutant{Status: "NOT VIABLE"})
	if got, want := nothing.String(), "| 0 | 0 | 0 | - |"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReadExplanations(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "- file: a.go\n  type: T\n  code: x\n")
	if _, err := readExplanations(filepath.Join(dir, "a.yaml")); err == nil || !strings.Contains(err.Error(), "explanation 1 needs file, type, code and why") {
		t.Errorf("error = %v, want that the reason is missing", err)
	}
}

// A line that is explained is still there. Whether what was changed in it still survives, only make mutation says.
func TestExplanationsAreOfCodeThatIsThere(t *testing.T) {
	const root = "../../.."
	known, err := readExplanations("survivors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range known {
		code, err := os.ReadFile(filepath.Join(root, e.File))
		if err != nil {
			t.Errorf("%v: remove the explanation", err)
			continue
		}
		if !strings.Contains(string(code), "\t"+strings.Replace(e.Code, mark, "", 1)+"\n") || !strings.Contains(e.Code, mark) {
			t.Errorf("%s has no line %q: make mutation ONLY=%s says what to write, if anything", e.File, e.Code, path.Dir(e.File))
		}
	}
}

func TestEndProcesses(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "file", "")
	left := exec.CommandContext(t.Context(), "tail", "-f", filepath.Join(directory, "file"))
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	endProcesses(directory)
	ended := make(chan error)
	go func() { ended <- left.Wait() }()
	select {
	case err := <-ended:
		if err == nil || err.Error() != "signal: killed" {
			t.Errorf("it ended with %v, want that it was killed", err)
		}
	case <-time.After(10 * time.Minute):
		t.Fatal("it still runs")
	}
}
