package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
)

// explanation says why no test can notice a change, or why none has to.
type explanation struct {
	File string
	Type string
	Code string // as in mutant.Code, so that the rest of the file may change
	Why  string
}

// readExplanations reads survivors.yaml.
func readExplanations(path string) ([]explanation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var known []explanation
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	if err := strict.Decode(&known); err != nil && !errors.Is(err, io.EOF) { // an empty file explains nothing
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for i, e := range known {
		if e.File == "" || e.Type == "" || e.Code == "" || e.Why == "" {
			return nil, fmt.Errorf("read %s: explanation %d needs file, type, code and why", path, i+1)
		}
	}
	return known, nil
}

// verdict holds the survivors without an explanation, and the explanations without a survivor.
type verdict struct {
	unexplained []mutant
	stale       []explanation
}

// explain compares the survivors of some packages with the explanations.
func explain(mutants []mutant, known []explanation, directories []string) verdict {
	var v verdict
	used := make([]bool, len(known))
	for _, m := range mutants {
		if !m.survived() {
			continue
		}
		i := slices.IndexFunc(known, func(e explanation) bool { return e.File == m.File && e.Type == m.Type && e.Code == m.Code })
		if i < 0 {
			v.unexplained = append(v.unexplained, m)
			continue
		}
		used[i] = true
	}
	for i, e := range known {
		if !used[i] && slices.Contains(directories, path.Dir(e.File)) {
			v.stale = append(v.stale, e)
		}
	}
	return v
}
