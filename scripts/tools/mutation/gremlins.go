package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// mutant is one change of the code, and whether the tests noticed it.
type mutant struct {
	Directory string // of the package, such as operator/internal/ssa
	File      string
	Line      int
	Column    int
	Type      string // what was changed, as gremlins calls it, such as CONDITIONALS_BOUNDARY
	Status    string // KILLED, LIVED, NOT COVERED, NOT VIABLE
	Code      string // the line, with a mark before what was changed
}

// mark shows where a line of code is changed.
const mark = "‸"

func (m mutant) survived() bool { return m.Status != "KILLED" && m.Status != "NOT VIABLE" }

// mutations are the kinds of changes that gremlins makes only on request, except the one that duplicates another kind.
var mutations = []string{
	"--invert-negatives=false",
	"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl",
	"--remove-self-assignments",
}

// gremlins runs the gremlins executable.
type gremlins struct {
	tool, goCommand, work, source string
	workers                       int
}

// newGremlins puts this executable where gremlins finds it before the real Go command.
func newGremlins(s settings, work, source string) (*gremlins, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(work, "bin"), 0o755); err != nil {
		return nil, err
	}
	return &gremlins{s.gremlins, goCommand, work, source, s.workers}, os.Symlink(self, filepath.Join(work, "bin", "go"))
}

// run tries every change of a package. The output of gremlins goes to w.
func (g *gremlins) run(ctx context.Context, directory string, w io.Writer) ([]mutant, error) {
	output := filepath.Join(g.work, "output.json")
	if err := os.RemoveAll(output); err != nil {
		return nil, err
	}
	fmt.Fprintln(w, directory)
	// testTimeout limits the tests: gremlins would derive its limit from a run that may have come from the cache.
	arguments := append([]string{"unleash", "--output", output, "--workers", strconv.Itoa(g.workers), "--timeout-coefficient", "1000000",
		"--exclude-files", "zz_generated|applyconfiguration", "--output-statuses", "lct"}, mutations...)
	command := exec.CommandContext(ctx, g.tool, append(arguments, "./"+directory)...)
	command.Dir = g.source
	command.Env = append(os.Environ(),
		"PATH="+filepath.Join(g.work, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		goVariable+"="+g.goCommand, "TMPDIR="+g.work, "PWD="+g.source, "GOWORK=off")
	// A signal has to reach the tests as well, because gremlins waits for them.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	command.Stdout, command.Stderr = w, w
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("run gremlins: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(output)
	if os.IsNotExist(err) { // there is nothing to change
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return g.mutants(directory, text)
}

// mutants parses the output file of gremlins for a package.
func (g *gremlins) mutants(directory string, text []byte) ([]mutant, error) {
	var result struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return nil, fmt.Errorf("read what gremlins found: %w", err)
	}
	var mutants []mutant
	for _, file := range result.Files {
		name := directory + "/" + filepath.ToSlash(file.Name)
		content, err := os.ReadFile(filepath.Join(g.source, name))
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(content), "\n")
		for _, m := range file.Mutations {
			mutants = append(mutants, mutant{directory, name, m.Line, m.Column, m.Type, m.Status, marked(lines[m.Line-1], m.Column)})
		}
	}
	return mutants, nil
}

// marked returns a line with a mark before its nth byte, counted from 1, and without space around it.
func marked(line string, column int) string {
	return strings.TrimSpace(line[:column-1] + mark + line[column-1:])
}
