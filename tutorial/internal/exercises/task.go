package exercises

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown/source"
	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// hintTask prints the next hint for a task of c, and reports whether it printed one: it does not if none is left, or if the learner
// asks for an exercise. The file records which have been printed; there, tasks count down from -1, because exercises count up from 1.
func hintTask(root string, c chapter.Chapter, file string, task, exercise int, out io.Writer) (bool, error) {
	if exercise != 0 && task == 0 {
		return false, nil
	}
	had, err := readHints(file)
	if err != nil {
		return false, err
	}
	if task == 0 {
		for task = 1; task <= len(c.Tasks) && had[-task] >= chapter.Steps; task++ {
		}
		if task > len(c.Tasks) {
			return false, nil
		}
	}
	if task < 1 || task > len(c.Tasks) {
		return false, outOfRange(c, "TASK", task, len(c.Tasks))
	}
	asked := c.Tasks[task-1]
	answer, err := AnswerTo(root, c, asked)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "Task %d of %s: %s (%s)\n\n", task, c.Name, asked.Goal, asked.File)
	hints := slices.Concat(asked.Hints, []string{answer.String()})
	return true, printHints(had, -task, hints, "", file, out)
}

// Answer is the chapter's code for a task, with the names of a learner's copy.
type Answer struct {
	// Imports are the import specifications that the declarations use.
	Imports []string
	// Text is the declarations, or the whole file.
	Text string
}

// String returns the answer as a hint.
func (a Answer) String() string {
	if len(a.Imports) == 0 {
		return "The chapter has:\n\n" + a.Text
	}
	return "With these imports, besides others that the file needs,\n\n\t" + strings.Join(a.Imports, "\n\t") + "\n\nthe chapter has:\n\n" + a.Text
}

// AnswerTo returns the chapter's code for a task of c.
func AnswerTo(root string, c chapter.Chapter, task chapter.Task) (Answer, error) {
	file := filepath.Join(root, c.OperatorDirectory(), task.File)
	content, err := os.ReadFile(file)
	if err != nil {
		return Answer{}, err
	}
	text := copyOptions(root, c.OperatorDirectory()).Rewriter().Replace(string(content))
	if len(task.Declarations) == 0 {
		return Answer{Text: text}, nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return Answer{}, err
	}
	used := map[string]bool{}
	for _, name := range task.Declarations {
		node, _ := source.Declaration(parsed, name)
		if node == nil {
			return Answer{}, fmt.Errorf("%s declares no %s", file, name)
		}
		ast.Inspect(node, func(n ast.Node) bool {
			if selector, is := n.(*ast.SelectorExpr); is {
				if of, is := selector.X.(*ast.Ident); is {
					used[of.Name] = true
				}
			}
			return true
		})
	}
	answer := Answer{}
	for _, spec := range parsed.Imports {
		name, written := path.Base(strings.Trim(spec.Path.Value, `"`)), spec.Path.Value
		if spec.Name != nil {
			name, written = spec.Name.Name, spec.Name.Name+" "+written
		}
		if used[name] {
			answer.Imports = append(answer.Imports, written)
		}
	}
	answer.Text, err = source.Declarations(file, text, task.Declarations)
	return answer, err
}
