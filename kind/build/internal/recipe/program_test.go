package recipe

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

var linux = Settings{GoVersion: "go1.26.8", OS: "linux", Arch: "amd64", AMD64: "v1", FIPS140: "off", CGO: "0"}

// world is two programs of different modules that share a library, and one
// module that is replaced.
func world() Packages {
	std := &Package{ImportPath: "vendor/golang.org/x/std", Standard: true}
	shared := &Package{
		ImportPath: "k8s.io/shared", Imports: []string{"golang.org/x/std"},
		ImportMap: map[string]string{"golang.org/x/std": "vendor/golang.org/x/std"},
		Module:    &Module{Path: "k8s.io/shared", Version: "v0.0.0", Replace: &Module{Path: "k8s.io/shared", Version: "v0.37.0", Sum: "h1:shared"}},
	}
	library := &Package{ImportPath: "example.com/library", Module: &Module{Path: "example.com/library", Version: "v1.0.0", Sum: "h1:library"}}
	etcd := &Package{
		ImportPath: "go.etcd.io/etcd/server/v3", Name: "main", Imports: []string{"k8s.io/shared"},
		Module: &Module{Path: "go.etcd.io/etcd/server/v3", Version: "v3.7.0", Sum: "h1:etcd"},
	}
	kubectl := &Package{
		ImportPath: "k8s.io/kubernetes/cmd/kubectl", Name: "main", Imports: []string{"k8s.io/shared", "example.com/library"},
		Module: &Module{Path: "k8s.io/kubernetes", Version: "v1.37.0", Sum: "h1:kubernetes"},
	}
	packages := Packages{}
	for _, p := range []*Package{std, shared, library, etcd, kubectl} {
		p.DepOnly = p.Name != "main"
		packages[p.ImportPath] = p
	}
	return packages
}

// keys are the programs' keys by name.
func keys(t *testing.T, packages Packages, settings Settings) map[string]string {
	t.Helper()
	programs, err := Programs(packages, settings)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, p := range programs {
		keys[p.Name] = p.Key
	}
	return keys
}

func TestProgramsAreNamedAndOrderedBySize(t *testing.T) {
	programs, err := Programs(world(), linux)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range programs {
		names = append(names, p.Name+" "+p.Version)
	}
	if want := []string{"etcd v3.7.0", "kubectl v1.37.0"}; !slices.Equal(names, want) {
		t.Errorf("got %q, expected %q", names, want)
	}
}

func TestKeyFollowsWhatTheProgramIsBuiltFrom(t *testing.T) {
	before := keys(t, world(), linux)
	both, none := []string{"etcd", "kubectl"}, []string{}

	for name, c := range map[string]struct {
		packages func(Packages)
		settings func(*Settings)
		changed  []string
	}{
		"nothing":                       {changed: none},
		"a module of one program":       {packages: func(p Packages) { p["example.com/library"].Module.Version = "v1.0.1" }, changed: []string{"kubectl"}},
		"the checksum of a module":      {packages: func(p Packages) { p["example.com/library"].Module.Sum = "h1:other" }, changed: []string{"kubectl"}},
		"a replaced module of both":     {packages: func(p Packages) { p["k8s.io/shared"].Module.Replace.Version = "v0.37.1" }, changed: both},
		"the program's own module":      {packages: func(p Packages) { p["go.etcd.io/etcd/server/v3"].Module.Version = "v3.7.1" }, changed: []string{"etcd"}},
		"the default GODEBUG":           {packages: func(p Packages) { p["go.etcd.io/etcd/server/v3"].DefaultGODEBUG = "panicnil=1" }, changed: []string{"etcd"}},
		"another module's import":       {packages: func(p Packages) { p["go.etcd.io/etcd/server/v3"].Imports = nil }, changed: []string{"etcd"}},
		"the toolchain":                 {settings: func(s *Settings) { s.GoVersion = "go1.26.9" }, changed: both},
		"the architecture":              {settings: func(s *Settings) { s.Arch = "arm64" }, changed: both},
		"the level of the architecture": {settings: func(s *Settings) { s.AMD64 = "v3" }, changed: both},
		"cgo":                           {settings: func(s *Settings) { s.CGO = "1" }, changed: both},
		"where the build cache is":      {settings: func(s *Settings) { s.BuildCache = "/elsewhere" }, changed: none},
		"a new tool": {packages: func(p Packages) {
			kwok := *p["go.etcd.io/etcd/server/v3"]
			kwok.ImportPath = "sigs.k8s.io/kwok/cmd/kwok"
			p[kwok.ImportPath] = &kwok
		}, changed: none},
	} {
		t.Run(name, func(t *testing.T) {
			packages, settings := world(), linux
			if c.packages != nil {
				c.packages(packages)
			}
			if c.settings != nil {
				c.settings(&settings)
			}
			after := keys(t, packages, settings)
			changed := []string{}
			for _, program := range slices.Sorted(maps.Keys(before)) {
				if before[program] != after[program] {
					changed = append(changed, program)
				}
			}
			if !slices.Equal(changed, c.changed) {
				t.Errorf("the keys of %q changed, expected those of %q", changed, c.changed)
			}
		})
	}
}

func TestRefusedTools(t *testing.T) {
	for name, c := range map[string]struct {
		change func(Packages)
		says   string
	}{
		"files without a version": {func(p Packages) { p["example.com/library"].Module.Sum = "" }, "comes from a folder"},
		"a library as a tool":     {func(p Packages) { p["example.com/library"].DepOnly = false; p["example.com/library"].Name = "library" }, "is no program"},
		"a tool of no module":     {func(p Packages) { p["go.etcd.io/etcd/server/v3"].Module = nil }, "is in no module"},
		"two of one name": {func(p Packages) {
			other := *p["k8s.io/kubernetes/cmd/kubectl"]
			other.ImportPath = "example.com/kubectl"
			p[other.ImportPath] = &other
		}, "would both be called kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			packages := world()
			c.change(packages)
			_, err := Programs(packages, linux)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, expected an error that says %q", err, c.says)
			}
		})
	}
}

func TestProgramName(t *testing.T) {
	for importPath, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":              "etcd",
		"k8s.io/kubernetes/cmd/kube-apiserver":   "kube-apiserver",
		"example.com/beta/v2":                    "beta",
		"github.com/containerd/containerd/v2/vx": "vx",
	} {
		if got := programName(importPath); got != want {
			t.Errorf("%s is called %s, expected %s", importPath, got, want)
		}
	}
}
