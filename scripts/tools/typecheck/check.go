package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// shown is how many errors are printed: most of the later ones are due to the first
// ones.
const shown = 20

// checker type-checks packages, each as soon as those that it imports are done.
type checker struct {
	sizes types.Sizes
	files *token.FileSet
	// running limits how many packages are checked in parallel.
	running chan struct{}
	results map[string]*result

	mu     sync.Mutex
	errors []error
}

// result is a package that is, or will be, type-checked.
type result struct {
	done chan struct{}
	pkg  *types.Package
}

// check type-checks packages, which must hold all that they import.
func check(packages []*listed, platform string) error {
	_, goarch, _ := strings.Cut(platform, "/")
	c := &checker{
		sizes:   types.SizesFor("gc", goarch),
		files:   token.NewFileSet(),
		running: make(chan struct{}, runtime.GOMAXPROCS(0)),
		results: map[string]*result{},
	}
	if c.sizes == nil {
		return fmt.Errorf("unknown architecture %q", goarch)
	}
	for _, p := range packages {
		c.results[p.ImportPath] = &result{done: make(chan struct{})}
	}
	var all sync.WaitGroup
	for _, p := range packages {
		all.Go(func() { c.check(p) })
	}
	all.Wait()
	if more := len(c.errors) - shown; more > 0 {
		c.errors = append(c.errors[:shown], fmt.Errorf("and %d more", more))
	}
	return errors.Join(c.errors...)
}

// check type-checks one package, as soon as those that it imports are done.
func (c *checker) check(p *listed) {
	result := c.results[p.ImportPath]
	defer close(result.done)
	if p.ImportPath == "unsafe" {
		result.pkg = types.Unsafe
		return
	}
	for _, path := range p.Imports {
		if imported := c.results[p.resolve(path)]; imported != nil {
			<-imported.done
		}
	}
	c.running <- struct{}{}
	defer func() { <-c.running }()

	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.fail(err)
		}
		if file != nil {
			files = append(files, file)
		}
	}
	config := types.Config{
		Sizes:    c.sizes,
		Importer: importer{c, p},
		Error:    c.fail,
		// The standard library is tested by the Go project.
		IgnoreFuncBodies: p.Standard,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	// The error is the first of those that fail has collected.
	result.pkg, _ = config.Check(path, c.files, files, nil)
}

func (c *checker) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors = append(c.errors, err)
}

// importer finds what one package imports among those that are done.
type importer struct {
	checker *checker
	p       *listed
}

// Import is called with the path as it is written in a file.
func (i importer) Import(path string) (*types.Package, error) {
	imported := i.checker.results[i.p.resolve(path)]
	if imported == nil || imported.pkg == nil {
		return nil, fmt.Errorf("import %s: go list did not name this package", path)
	}
	return imported.pkg, nil
}

// resolve returns the ImportPath of an import as it is written in a file.
func (p *listed) resolve(path string) string {
	if mapped := p.ImportMap[path]; mapped != "" {
		return mapped
	}
	return path
}
