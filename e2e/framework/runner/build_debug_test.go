package runner_test

import (
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/operator-testbed/e2e/framework/runner"
)

// TestBuildForDebugger builds with flags that leave debug information out, as make does. A debugger needs that of all packages: a
// reader steps into the libraries, too.
func TestBuildForDebugger(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":      "module example.com/own\n\ngo 1.26.0\n",
		"cmd/main.go": "package main\n\nimport \"example.com/own/part\"\n\nfunc main() { part.Say(nil) }\n",
		"part/say.go": "package part\n\nimport \"errors\"\n\nfunc Say(ours error) { println(errors.Join(ours) == nil) }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "-gcflags=all=-dwarf=false")
	binary := filepath.Join(dir, "operator")
	if err := runner.BuildForDebugger(t.Context(), dir, "./cmd", binary); err != nil {
		t.Fatal(err)
	}
	parameters := parametersOf(t, binary)
	for _, name := range []string{"ours", "errs"} { // those of Say, and of errors.Join
		if !parameters[name] {
			t.Errorf("a debugger does not know the parameter %s", name)
		}
	}
}

// parametersOf are the names of the parameters that a debugger finds in an executable.
func parametersOf(t *testing.T, binary string) map[string]bool {
	t.Helper()
	data, err := debugInformation(binary)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for reader := data.Reader(); ; {
		entry, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if entry == nil {
			return names
		}
		if name, ok := entry.Val(dwarf.AttrName).(string); ok && entry.Tag == dwarf.TagFormalParameter {
			names[name] = true
		}
	}
}

func debugInformation(binary string) (*dwarf.Data, error) {
	if file, err := elf.Open(binary); err == nil {
		defer file.Close()
		return file.DWARF()
	}
	file, err := macho.Open(binary)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.DWARF()
}
