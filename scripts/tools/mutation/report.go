package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints the score of each package, and returns an error if a survivor is unexplained or an explanation is stale.
func report(w io.Writer, mutants []mutant, v verdict) error {
	fmt.Fprintf(w, "\n| package | mutants | killed | survived | score |\n|---|---|---|---|---|\n")
	var directories []string
	scores := map[string]*score{}
	total := &score{}
	for _, m := range mutants {
		if scores[m.Directory] == nil {
			directories, scores[m.Directory] = append(directories, m.Directory), &score{}
		}
		scores[m.Directory].add(m)
		total.add(m)
	}
	for _, directory := range directories {
		fmt.Fprintf(w, "| `%s` %s\n", directory, scores[directory])
	}
	fmt.Fprintf(w, "| all %s\n", total)

	for _, m := range v.unexplained {
		fmt.Fprintf(w, "\n%s:%d:%d: %s %s: no test notices; write one, or explain it in survivors.yaml:\n- file: %[1]s\n  type: %[4]s\n  code: '%[6]s'\n  why:\n",
			m.File, m.Line, m.Column, m.Type, m.Status, strings.ReplaceAll(m.Code, "'", "''"))
	}
	for _, e := range v.stale {
		fmt.Fprintf(w, "\n%s: survivors.yaml explains %s in %q, which is killed or gone: remove the explanation\n", e.File, e.Type, e.Code)
	}
	if n := len(v.unexplained) + len(v.stale); n > 0 {
		return fmt.Errorf("%d changes survive unexplained, and %d explanations have no survivor", len(v.unexplained), len(v.stale))
	}
	return nil
}

// score counts the changes that compile.
type score struct{ killed, survived int }

func (s *score) add(m mutant) {
	switch {
	case m.survived():
		s.survived++
	case m.Status == "KILLED":
		s.killed++
	}
}

func (s *score) String() string {
	tried, percent := s.killed+s.survived, "-"
	if tried > 0 {
		percent = fmt.Sprintf("%d %%", 100*s.killed/tried)
	}
	return fmt.Sprintf("| %d | %d | %d | %s |", tried, s.killed, s.survived, percent)
}
