package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ListFields are the fields of a package that Packages needs, as an argument
// for `go list -deps -json=...`.
const ListFields = "ImportPath,Name,Dir,DepOnly,Standard,Module,Imports,ImportMap,GoFiles,SFiles,EmbedFiles,DefaultGODEBUG,Error"

// Package is one package as `go list -json` describes it.
type Package struct {
	ImportPath     string
	Name           string
	Dir            string
	DepOnly        bool // not asked for, only imported
	Standard       bool
	Module         *Module
	Imports        []string
	ImportMap      map[string]string // import as written -> ImportPath
	GoFiles        []string
	SFiles         []string
	EmbedFiles     []string
	DefaultGODEBUG string
	Error          *struct{ Err string }
}

// Module is the module that a package is in.
type Module struct {
	Path    string
	Version string
	Sum     string // as in go.sum; empty for a folder without a version
	Main    bool   // it is the module whose tool lines are built
	Replace *Module
}

// origin is where the module's files truly come from.
func (m *Module) origin() *Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// Packages are the tools' packages and everything they import, by import path.
type Packages map[string]*Package

// ParsePackages reads what `go list -deps -json=ListFields` prints. A package
// that cannot be loaded is an error.
func ParsePackages(output []byte) (Packages, error) {
	packages := Packages{}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		p := &Package{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		if p.Error != nil {
			return nil, fmt.Errorf("package %s can't be loaded: %s", p.ImportPath, p.Error.Err)
		}
		packages[p.ImportPath] = p
	}
}

// Closure is a package and everything it is built from, directly or not, in no
// particular order but without repetition.
func (ps Packages) Closure(importPath string) []*Package {
	var closure []*Package
	seen := map[string]bool{}
	for queue := []string{importPath}; len(queue) > 0; {
		path := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		p := ps[path]
		if p == nil || seen[path] {
			continue
		}
		seen[path] = true
		closure = append(closure, p)
		queue = append(queue, p.Needs()...)
	}
	return closure
}

// Needs are the import paths of the packages that this one imports.
func (p *Package) Needs() []string {
	needs := slices.Clone(p.Imports)
	for i, path := range needs {
		if mapped := p.ImportMap[path]; mapped != "" {
			needs[i] = mapped
		}
	}
	return needs
}
