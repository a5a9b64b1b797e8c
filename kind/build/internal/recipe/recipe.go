// Package recipe decides what is built and from what: which programs the tool
// lines of a module name, with which flags and version stamps, and the key that
// shows whether programs that were built before are still the right ones. There is
// one key for all programs of a module: what they share is in the go command's
// build cache, so a new key costs little more than linking.
package recipe

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// BuildFlags are the flags of every program. -trimpath keeps the builder's
// directories out of the result, so that two machines build the same bytes. Without
// debug information, which the linker would leave out anyway, compiling takes an eighth
// less processor time, and the build cache a fifth less space.
//
// The operators are built with the same flags (scripts/go-settings.mk, e2e/host/gocommand),
// because the build cache holds a package once for each set of flags.
var BuildFlags = []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"}

// linkFlags leave out the symbol table and the debug information: a fifth of
// the size, and nobody debugs the control plane here.
const linkFlags = "-s -w"

// names are the programs that are not named after their package.
var names = map[string]string{
	"go.etcd.io/etcd/server/v3": "etcd",
}

// Stamp is a variable that the linker sets in every program of a module, so
// that the program reports the version it was built from. A build inside the
// project's own repository sets the same variables; a build from the module
// cache has no git metadata.
type Stamp struct {
	// Module is the one that the program's main package is in.
	Module string
	// Variable is the import path and the name of a string variable.
	Variable string
	// Value may hold {version}, {major} and {minor} of the module.
	Value string
}

// Extra is what the programs of one module need beyond the tables of this package.
// It is part of that module's key only, so the key of Kubernetes stays the same
// when another module's tags or stamps change.
type Extra struct {
	// Tags are build tags.
	Tags []string
	// Stamps are more variables to set.
	Stamps []Stamp
}

// Flags returns the flags that the programs are built with.
func (e Extra) Flags() []string {
	if len(e.Tags) == 0 {
		return BuildFlags
	}
	return append(slices.Clone(BuildFlags), "-tags="+strings.Join(e.Tags, ","))
}

var stamps = []Stamp{
	// What `kubectl version` and the API server's /version say.
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitVersion", "{version}"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitMajor", "{major}"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitMinor", "{minor}"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitTreeState", "clean"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitCommit", ""},
	// What clients put into their User-Agent, which the audit log repeats.
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitVersion", "{version}"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitMajor", "{major}"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitMinor", "{minor}"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitTreeState", "clean"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitCommit", ""},

	// What a node reports as its containerRuntimeVersion.
	{"github.com/containerd/containerd/v2", "github.com/containerd/containerd/v2/version.Version", "{version}"},
	{"github.com/containerd/containerd/v2", "github.com/containerd/containerd/v2/version.Revision", ""},

	{"sigs.k8s.io/cri-tools", "sigs.k8s.io/cri-tools/pkg/version.Version", "{version}"},

	{"sigs.k8s.io/kwok", "sigs.k8s.io/kwok/pkg/consts.Version", "{version}"},
	{"sigs.k8s.io/kwok", "k8s.io/client-go/pkg/version.gitVersion", "{version}"},
	{"sigs.k8s.io/kwok", "k8s.io/client-go/pkg/version.gitCommit", ""},
}

// GoMod is what `go mod edit -json` prints of a go.mod.
type GoMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Tool    []struct{ Path string }
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
}

// Programs are the programs with these names, all of them for no names.
func (m GoMod) Programs(wanted []string, extra Extra) ([]Program, error) {
	var programs []Program
	missing := slices.Clone(wanted)
	for _, tool := range m.Tool {
		name := cmp.Or(names[tool.Path], path.Base(tool.Path))
		if len(wanted) > 0 && !slices.Contains(wanted, name) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(other string) bool { return other == name })
		module, version := m.origin(tool.Path)
		programs = append(programs, Program{Name: name, Package: tool.Path, Version: version, LDFlags: ldflags(module, version, extra.Stamps)})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no tool line of %s names a program called %s", m.Module.Path, strings.Join(missing, " or "))
	}
	return programs, nil
}

// origin is the required module that a package is in, with its version.
func (m GoMod) origin(importPath string) (module, version string) {
	for _, required := range m.Require {
		if strings.HasPrefix(importPath+"/", required.Path+"/") && len(required.Path) > len(module) {
			module, version = required.Path, required.Version
		}
	}
	return module, version
}

// ldflags are the linker's flags for a program of a module at a version, with more
// stamps than those of the table.
func ldflags(module, version string, more []Stamp) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	values := strings.NewReplacer("{version}", version, "{major}", major, "{minor}", minor)
	flags := []string{linkFlags}
	for _, s := range slices.Concat(stamps, more) {
		if s.Module == module {
			flags = append(flags, "-X "+s.Variable+"="+values.Replace(s.Value))
		}
	}
	return strings.Join(flags, " ")
}
