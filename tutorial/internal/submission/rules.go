package submission

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// toolsModule is the only other module in a copy: it pins programs that its Makefile runs.
const toolsModule = "hack/tools/go.mod"

// foreign are the endings of files that the Go command compiles or links, and that are not Go.
var foreign = []string{
	".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".f90", ".for", ".s", ".sx", ".swig", ".swigcxx", ".syso",
}

// line is what StageFile and LabFile hold.
var line = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*\s*$`)

// judge returns an error for the first file, in the order of their names, that may not be graded.
func (t *tree) judge(root string) error {
	if _, ok := t.files[StageFile]; !ok {
		return refuse(StageFile, "is missing: hand in a copy that make start or make break has made, with its hidden files")
	}
	own, err := requirements(root)
	if err != nil {
		return err
	}
	for _, name := range t.names() {
		if err := judgeFile(name, t.files[name].content, own); err != nil {
			return err
		}
	}
	return nil
}

func judgeFile(name string, content []byte, own map[string]string) error {
	base := path.Base(name)
	switch {
	case slices.Contains(strings.Split(path.Dir(name), "/"), "vendor"):
		return refuse(name, "is in a vendor directory, which would replace the modules: delete the directory")
	case base == "go.work" || base == "go.work.sum":
		return refuse(name, "would replace modules: delete it")
	case name == "go.mod":
		return judgeModule(content, own)
	case base == "go.mod" && name != toolsModule:
		return refuse(name, "makes a module of its own: delete it, and keep all code in the module of the copy")
	case slices.Contains(foreign, strings.ToLower(path.Ext(name))):
		return refuse(name, "is C, assembler or another language: write Go only")
	case path.Ext(name) == ".go" && importsC(content):
		return refuse(name, `imports "C": write Go only`)
	case (name == StageFile || name == LabFile) && (len(content) > 64 || !line.Match(content)):
		return refuse(name, "does not hold one name: write the one that make start or make break has written")
	}
	return nil
}

// importsC reports whether a Go file uses cgo. One that can't be read does not compile, either.
func importsC(content []byte) bool {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", content, parser.ImportsOnly)
	if parsed == nil || err != nil && len(parsed.Imports) == 0 {
		return false
	}
	for _, spec := range parsed.Imports {
		if spec.Path.Value == `"C"` || spec.Path.Value == "`C`" {
			return true
		}
	}
	return false
}

// requirements returns the versions of the modules that the repository at root requires. Those of a copy are some of them.
func requirements(root string) (map[string]string, error) {
	file := filepath.Join(root, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, err := modfile.Parse(file, text, nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, require := range parsed.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	return versions, nil
}

// judgeModule judges a go.mod.
func judgeModule(content []byte, own map[string]string) error {
	const name = "go.mod"
	parsed, err := modfile.Parse(name, content, nil)
	if err != nil {
		return refuse(name, "can't be read (%s): run go mod edit -fmt, which names the line", firstLine(err.Error()))
	}
	switch {
	case len(parsed.Replace) > 0:
		return refuse(name, "replaces %s, which the grader does not: delete the line with replace", parsed.Replace[0].Old.Path)
	case parsed.Toolchain != nil:
		return refuse(name, "chooses the toolchain %s, which the grader does not: delete the line", parsed.Toolchain.Name)
	}
	for _, require := range parsed.Require {
		switch version, ok := own[require.Mod.Path]; {
		case !ok:
			return refuse(name, "requires %s, which is not a module of the repository: do without it", require.Mod.Path)
		case version != require.Mod.Version:
			return refuse(name, "requires %s %s: the repository has %s", require.Mod.Path, require.Mod.Version, version)
		}
	}
	return nil
}

// firstLine returns the start of somebody else's message, for use in a sentence.
func firstLine(message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if len(message) > 200 {
		message = fmt.Sprintf("%.200s...", message)
	}
	return printable(message)
}
