package plan

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// starting matches code that starts a program, or imports what does.
var starting = regexp.MustCompile(`"os/exec"|/envtest"|/gexec"|"sigs\.k8s\.io/kind/|\b(os|syscall|unix)\.(StartProcess|ForkExec|Exec)\(`)

// contained returns those of the packages, such as ./e2e/host/home, whose tests start no program. The Go command knows all that their results
// depend on. Code for any platform counts.
func contained(root string, packages []string) ([]string, error) {
	s := starters{root: root, known: map[string]bool{}}
	var result []string
	for _, pkg := range packages {
		started, err := s.anyFile(filepath.Join(root, pkg), func(string) bool { return true })
		if err != nil {
			return nil, fmt.Errorf("look for what the tests of %s start: %w", pkg, err)
		}
		if !started {
			result = append(result, pkg)
		}
	}
	return result, nil
}

// starters knows of the directories in known whether their packages start programs, without tests.
type starters struct {
	root  string
	known map[string]bool
}

func (s *starters) any(directory string) (started bool, err error) {
	started, known := s.known[directory]
	if !known {
		started, err = s.anyFile(directory, func(file string) bool { return !strings.HasSuffix(file, "_test.go") })
		s.known[directory] = started
	}
	return started, err
}

// anyFile reports whether the chosen files of a directory start a program, or what they import from this module does.
func (s *starters) anyFile(directory string, chosen func(file string) bool) (bool, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if !chosen(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil || starting.Match(text) {
			return true, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return false, err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return false, err
			}
			within, ours := strings.CutPrefix(imported, "github.com/example/operator-testbed/")
			if !ours {
				continue
			}
			if started, err := s.any(filepath.Join(s.root, within)); started || err != nil {
				return started, err
			}
		}
	}
	return false, nil
}
