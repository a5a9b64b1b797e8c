package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/scripts/runner/plan"
)

// lastLines returns the lines that a plan ends with: which tests were skipped, what the others have proven, and what they have not. It reads
// the files with the events of the plan's parts. It is an error if a test was skipped that no list allows to be skipped.
func lastLines(p plan.Plan, events []string) ([]string, error) {
	if len(p.Tiers) == 0 || len(events) == 0 {
		return nil, nil
	}
	var runs []summary.Run
	for _, path := range events {
		r, err := readEvents(path)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	all := summary.Merge(runs...)
	complete := p.Tiers
	if p.Partial {
		complete = nil
	}
	lines := append(all.Skipped(), all.Proven())
	if !p.Chapter {
		lines = append(lines, all.NotProven(complete...))
	}
	unexpected := all.Unexpected()
	if len(unexpected) == 0 {
		return lines, nil
	}
	failures := []error{fmt.Errorf("tests were skipped that e2e/tier/summary/skips.go does not list: %d", len(unexpected))}
	for _, s := range unexpected {
		failures = append(failures, errors.New(s.String()))
	}
	return lines, errors.Join(failures...)
}

func readEvents(path string) (summary.Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return summary.Run{}, err
	}
	defer file.Close()
	r, err := summary.Read(file)
	if err != nil {
		return summary.Run{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
