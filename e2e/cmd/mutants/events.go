package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/example/operator-testbed/e2e/tier/summary"
)

// eventsVariable names the file to which the results are written, in the form of `go test -json`. A run of several programs makes its
// summary from such files.
const eventsVariable = "TESTBED_EVENTS"

// packageOfEvents is the package whose tests the mutants would be, if they were tests.
const packageOfEvents = "github.com/example/operator-testbed/e2e/cmd/mutants"

// events writes the result of each mutant to a file. A nil *events writes nothing.
type events struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first
}

// openEvents returns where the environment wants the events, or nil if it wants none.
func openEvents() (*events, error) {
	path := os.Getenv(eventsVariable)
	if path == "" {
		return nil, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the file that $%s names: %w", eventsVariable, err)
	}
	return &events{file: file}, nil
}

// result writes that a mutant was killed, or why it was not.
func (e *events) result(mutant, survived string) {
	if e == nil {
		return
	}
	test := "TestMutants/" + mutant
	if survived != "" {
		e.write(summary.Event{Action: "output", Test: test, Output: strings.TrimSuffix(survived, "\n") + "\n"}, summary.Event{Action: "fail", Test: test})
		return
	}
	e.write(summary.Event{Action: "attr", Test: test, Key: summary.ProvesKey, Value: summary.Mutant + " 1"}, summary.Event{Action: "pass", Test: test})
}

func (e *events) write(list ...summary.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range list {
		event.Package = packageOfEvents
		line, err := json.Marshal(event)
		if err == nil {
			_, err = e.file.Write(append(line, '\n'))
		}
		if err != nil && e.err == nil {
			e.err = fmt.Errorf("write to the file that $%s names: %w", eventsVariable, err)
		}
	}
}

// close ends the file, with the result of the run.
func (e *events) close(failed bool) error {
	if e == nil {
		return nil
	}
	action := "pass"
	if failed {
		action = "fail"
	}
	e.write(summary.Event{Action: action})
	return errors.Join(e.err, e.file.Close())
}
