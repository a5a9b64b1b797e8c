package recipe

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// names are the programs that are called otherwise than their package.
var names = map[string]string{
	"go.etcd.io/etcd/server/v3": "etcd",
}

// Program is one program to build.
type Program struct {
	// Name is the file's name.
	Name string
	// Package is the import path of its main package.
	Package string
	// Version is that of the module its main package is in, empty for the module
	// whose tool line it is.
	Version string
	// LDFlags is the value of the go command's -ldflags.
	LDFlags string
	// Inputs are all facts that the program's bytes depend on, one a line, for
	// a person who wonders why it was built again.
	Inputs []string
	// Key stands for all Inputs.
	Key string
}

// Programs are the programs that a module's tool lines name, in the order of
// their dependencies' number: what is small is ready soon, and what it shares
// with the others is compiled by then.
func Programs(packages Packages, settings Settings) ([]Program, error) {
	var programs []Program
	size := map[string]int{}
	for _, p := range packages {
		if p.DepOnly {
			continue
		}
		closure := packages.Closure(p.ImportPath)
		program, err := program(p, closure, settings)
		if err != nil {
			return nil, err
		}
		size[program.Name] = len(closure)
		programs = append(programs, program)
	}
	slices.SortFunc(programs, func(a, b Program) int {
		if d := size[a.Name] - size[b.Name]; d != 0 {
			return d
		}
		return strings.Compare(a.Package, b.Package)
	})
	for i, p := range programs {
		if j := slices.IndexFunc(programs, func(q Program) bool { return q.Name == p.Name }); j != i {
			return nil, fmt.Errorf("the tools %s and %s would both be called %s: give one another name in package recipe", programs[j].Package, p.Package, p.Name)
		}
	}
	return programs, nil
}

func program(main *Package, closure []*Package, settings Settings) (Program, error) {
	if main.Name != "main" {
		return Program{}, fmt.Errorf("the tool line %s names a package that is no program", main.ImportPath)
	}
	if main.Module == nil {
		return Program{}, fmt.Errorf("the tool %s is in no module", main.ImportPath)
	}
	modules, err := moduleLines(closure)
	if err != nil {
		return Program{}, err
	}
	p := Program{
		Name:    programName(main.ImportPath),
		Package: main.ImportPath,
		Version: main.Module.origin().Version,
		LDFlags: ldflags(main.Module.Path, main.Module.origin().Version),
	}
	p.Inputs = append(p.Inputs, "package "+p.Package)
	p.Inputs = append(p.Inputs, settings.lines()...)
	p.Inputs = append(p.Inputs, "build "+strings.Join(BuildFlags, " "), "link "+p.LDFlags, "GODEBUG="+main.DefaultGODEBUG)
	p.Inputs = append(p.Inputs, modules...)
	p.Key = key(append([]string{p.Name}, p.Inputs...))
	return p, nil
}

// moduleLines are the sorted modules that packages come from, with versions and
// checksums, and the packages of the module itself with a digest of their files.
func moduleLines(packages []*Package) ([]string, error) {
	var lines []string
	for _, p := range packages {
		if p.Standard {
			continue // the toolchain's version stands for it
		}
		if p.Module != nil && p.Module.Main {
			content, err := filesDigest(p.Dir, slices.Concat(p.GoFiles, p.SFiles, p.EmbedFiles))
			if err != nil {
				return nil, err
			}
			lines = append(lines, "package "+p.ImportPath+" "+content)
			continue
		}
		if p.Module == nil || p.Module.origin().Sum == "" {
			return nil, fmt.Errorf("package %s (%s) comes from a folder, not from a module with a version in go.sum: nothing would tell a later build that its files have changed", p.ImportPath, p.Dir)
		}
		line := "module " + p.Module.Path + " " + p.Module.Version + " " + p.Module.Sum
		if r := p.Module.Replace; r != nil {
			line = "module " + p.Module.Path + " " + p.Module.Version + " => " + r.Path + " " + r.Version + " " + r.Sum
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// programName is the name that `go install` would choose, or the one in names.
func programName(importPath string) string {
	if name, ok := names[importPath]; ok {
		return name
	}
	base := path.Base(importPath)
	if majorVersion.MatchString(base) {
		return path.Base(path.Dir(importPath))
	}
	return base
}
