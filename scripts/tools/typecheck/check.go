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

// shown is how many errors are repeated: those that follow are mostly due to the
// first ones.
const shown = 20

// checker type-checks packages, each as soon as those that it imports are done.
type checker struct {
	sizes types.Sizes
	files *token.FileSet
	// running limits how many packages are worked on at once.
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
		return fmt.Errorf("the Go compiler knows no architecture %s", goarch)
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
		// Go's own library is checked by those who make it.
		IgnoreFuncBodies: p.Standard,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	// The error is the first of those that fail has got.
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
		return nil, fmt.Errorf("package %s is not among those that go list named", path)
	}
	return imported.pkg, nil
}

// resolve is the ImportPath of an import as it is written.
func (p *listed) resolve(path string) string {
	if mapped := p.ImportMap[path]; mapped != "" {
		return mapped
	}
	return path
}
