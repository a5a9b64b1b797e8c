// Package mutant tests a suite: it breaks the operator on purpose, one fault at a time, and checks that the suite catches each
// with the assertion that the fault's patch names.
package mutant

import (
	"bytes"
	"fmt"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mutant is one fault: a patch against the repository whose head says what must catch it.
//
//	Fault: the status is never written
//	Test: TestSize
//	Assertion: expected Available=True
//
//	diff --git a/operator/... b/operator/...
type Mutant struct {
	// Name is the patch's file name without its ending.
	Name string
	// Fault says what is broken.
	Fault string
	// Test is the test function of the suite that must fail. No other one runs. Empty means that the operator must not even
	// get ready.
	Test string
	// Assertion is a part of what the test must fail with.
	Assertion string
	// Path is the patch's file; empty where Content says what is changed.
	Path string
	// Files are what is changed, relative to the repository.
	Files []string
	// Content is what the files hold instead, for a mutant without a patch.
	Content map[string][]byte
	// Env is what the suite's environment needs for the fault to show.
	Env []string
}

// anyTest runs where an operator is broken so badly that the suite's set-up fails.
const anyTest = "TestSize"

// pattern matches the test that runs.
func (m Mutant) pattern() string {
	if m.Test == "" {
		return "^" + anyTest + "$"
	}
	return "^" + m.Test + "$"
}

// Judges names what must notice the fault, for people.
func (m Mutant) Judges() string {
	if m.Test == "" {
		return "the suite's set-up"
	}
	return m.Test
}

var changed = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)`)

// Read reads the patches (*.patch) in a directory, sorted by name.
func Read(directory string) ([]Mutant, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "*.patch"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there are no mutants (*.patch) in %s", directory)
	}
	slices.Sort(paths)
	var mutants []Mutant
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		mutant, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("read the mutant %s: %w", path, err)
		}
		mutant.Name, mutant.Path = strings.TrimSuffix(filepath.Base(path), ".patch"), path
		mutants = append(mutants, mutant)
	}
	return mutants, nil
}

func parse(text []byte) (Mutant, error) {
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return Mutant{}, fmt.Errorf("a line of its head is not `Name: value`: %w", err)
	}
	head := message.Header
	mutant := Mutant{Fault: head.Get("Fault"), Test: head.Get("Test"), Assertion: head.Get("Assertion")}
	if mutant.Fault == "" || mutant.Test == "" || mutant.Assertion == "" {
		return Mutant{}, fmt.Errorf("its head must give Fault, Test and Assertion")
	}
	for _, match := range changed.FindAllSubmatch(text, -1) {
		mutant.Files = append(mutant.Files, string(match[1]))
	}
	if len(mutant.Files) == 0 {
		return Mutant{}, fmt.Errorf("it changes no file: it needs a unified diff with `+++ b/path` lines")
	}
	return mutant, nil
}

// Judge says what is wrong with how the suite took the mutant, or "" when it killed it as it should: the test failed, and with
// the assertion that the patch names.
func (m Mutant) Judge(passed bool, output string) string {
	switch {
	case passed:
		return fmt.Sprintf("survived: %s passed although %s", m.Judges(), m.Fault)
	case m.Test != "" && !strings.Contains(output, "--- FAIL: "+m.Test):
		return fmt.Sprintf("did not reach %s", m.Test)
	case !strings.Contains(withoutClues(output), m.Assertion):
		return fmt.Sprintf("was killed by something other than %q", m.Assertion)
	default:
		return ""
	}
}

// clues begins what a suite logs after a failure: what the operator and the cluster have said. An error there is not an assertion.
const clues = "artifacts.go:"

// withoutClues returns a test's output without the clues, which are indented further than the line that begins them.
func withoutClues(output string) string {
	var kept strings.Builder
	begun := -1 // the indentation of the line that began them
	for line := range strings.Lines(output) {
		text := strings.TrimLeft(line, " ")
		indentation := len(line) - len(text)
		if begun >= 0 && indentation > begun {
			continue
		}
		begun = -1
		if strings.HasPrefix(text, clues) {
			begun = indentation
			continue
		}
		kept.WriteString(line)
	}
	return kept.String()
}
