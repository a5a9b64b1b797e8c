package exercises_test

import (
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/markdown/source"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// typeIn does to the copy in dir what a learner does who follows the page of c: it types the declarations that the page shows,
// then those of the last hint about each task, and generates what comes from types and markers.
func typeIn(t *testing.T, c chapter.Chapter, dir string) {
	t.Helper()
	generated := false
	for _, task := range slices.Concat(shown(t, c), c.Tasks) {
		answer, err := exercises.AnswerTo(root, c, task)
		if err != nil {
			t.Fatal(err)
		}
		generated = generated || strings.Contains(answer.Text, "// +kubebuilder:")
		path := filepath.Join(dir, task.File)
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			content = []byte("package " + filepath.Base(filepath.Dir(path)) + "\n\nimport (\n)\n")
		} else if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(typed(t, string(content), task, answer)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !generated {
		return
	}
	generate := exec.CommandContext(t.Context(), "make", "generate", "manifests")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

var block = regexp.MustCompile("(?m)^```go file=(\\S+) decl=(\\S+)$")

// shown returns the declarations that the page of c shows of its operator. A test of the docs keeps a page's blocks as the files are.
func shown(t *testing.T, c chapter.Chapter) []chapter.Task {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "tutorial", c.Name, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tasks []chapter.Task
	for _, match := range block.FindAllStringSubmatch(string(page), -1) {
		if file, own := strings.CutPrefix(match[1], c.OperatorDirectory()+"/"); own && !strings.HasPrefix(file, "test/") {
			tasks = append(tasks, chapter.Task{File: file, Declarations: strings.Split(match[2], ",")})
		}
	}
	return tasks
}

// typed returns the content of a file with an answer in it: the declarations in place of those of the same names, and the
// imports that they need and the file lacks.
func typed(t *testing.T, content string, task chapter.Task, answer exercises.Answer) string {
	t.Helper()
	if len(task.Declarations) == 0 {
		return answer.Text
	}
	for _, name := range task.Declarations {
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, task.File, content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		node, doc := source.Declaration(parsed, name)
		if node == nil {
			continue
		}
		if _, is := node.(ast.Decl); !is {
			t.Fatalf("%s in %s is a field: show its type", name, task.File)
		}
		begin := node.Pos()
		if doc != nil {
			begin = doc.Pos()
		}
		content = content[:files.Position(begin).Offset] + content[files.Position(node.End()).Offset:]
	}
	for _, spec := range answer.Imports {
		if !strings.Contains(content, "\t"+spec+"\n") {
			content = strings.Replace(content, "import (\n", "import (\n\t"+spec+"\n", 1)
		}
	}
	return content + "\n" + answer.Text
}

// program returns what the files of an operator in dir say, by file. The order of imports and declarations does not matter, nor do empty
// lines. Tests that no task is about are left out, and so are the manifests of a chapter that are applied by hand.
func program(t *testing.T, dir string, tasks []chapter.Task) map[string][]string {
	t.Helper()
	contents := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir+string(filepath.Separator))
		isAbout := func(task chapter.Task) bool { return filepath.FromSlash(task.File) == name }
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "deploy":
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go") && !slices.ContainsFunc(tasks, isAbout):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Ext(path) != ".go" {
			contents[name] = []string{string(content)}
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, content, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, declaration := range parsed.Decls {
			if imports, is := declaration.(*ast.GenDecl); is && imports.Tok == token.IMPORT {
				for _, spec := range imports.Specs {
					contents[name] = append(contents[name], string(content[files.Position(spec.Pos()).Offset:files.Position(spec.End()).Offset]))
				}
				continue
			}
			var b strings.Builder
			if err := format.Node(&b, files, &printer.CommentedNode{Node: declaration, Comments: parsed.Comments}); err != nil {
				return err
			}
			contents[name] = append(contents[name], b.String())
		}
		slices.Sort(contents[name])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}
