package docs_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// pin is one mention of a version: what it is a version of, where it is mentioned, and the version.
type pin struct {
	name, file, version string
}

// disagreements returns a sentence for each name whose pins are not all the same. Pins of the names in excused may differ.
func disagreements(pins []pin, excused map[string]string) []string {
	files := map[string]map[string][]string{} // by name and version
	for _, p := range pins {
		if files[p.name] == nil {
			files[p.name] = map[string][]string{}
		}
		files[p.name][p.version] = append(files[p.name][p.version], p.file)
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, ok := excused[name]
		switch {
		case len(files[name]) > 1 && !ok:
			var places []string
			for _, version := range slices.Sorted(maps.Keys(files[name])) {
				slices.Sort(files[name][version])
				places = append(places, version+" in "+strings.Join(slices.Compact(files[name][version]), ", "))
			}
			wrong = append(wrong, fmt.Sprintf("%s is %s: use the same version in all of them", name, strings.Join(places, "; ")))
		case len(files[name]) == 1 && ok:
			wrong = append(wrong, fmt.Sprintf("%s is the same everywhere: remove it from the exceptions in docs/pins_test.go", name))
		}
	}
	return wrong
}

func TestDisagreementsAreNamed(t *testing.T) {
	pins := []pin{{"a", "x", "v1"}, {"a", "y", "v2"}, {"a", "z", "v1"}, {"b", "x", "v1"}, {"c", "x", "v1"}, {"c", "y", "v2"}}
	for _, test := range []struct {
		excused map[string]string
		want    []string
	}{
		{map[string]string{"c": "a reason"}, []string{"a is v1 in x, z; v2 in y: use the same version in all of them"}},
		{map[string]string{"a": "a reason", "b": "no longer", "c": "a reason"}, []string{"b is the same everywhere: remove it from the exceptions in docs/pins_test.go"}},
	} {
		if got := disagreements(pins, test.excused); !slices.Equal(got, test.want) {
			t.Errorf("the exceptions are %v: got %q, expected %q", test.excused, got, test.want)
		}
	}
}

// differ holds the modules that nested modules require in different versions, and why.
var differ = map[string]string{
	"go.yaml.in/yaml/v3": "Kubernetes decides the version of the root, and kubebuilder that of scripts/tools",
	"golang.org/x/sys":   "Kubernetes decides the version of the root, and containerd that of kind/node",
}

// TestPinsAgree compares the versions in the go.mod files with one another, and with those that other files mention, which a
// custom manager of Renovate updates.
func TestPinsAgree(t *testing.T) {
	config := readRenovate(t)
	var pins []pin
	required := map[string]pin{}
	for _, file := range goMods(t) {
		for _, r := range deliberate(t, file) {
			if file == previousKubernetes {
				continue // see TestPreviousVersion
			}
			pins = append(pins, pin{r.Path, file, r.Version})
			required[r.Path] = pin{r.Path, file, r.Version}
		}
		// Renovate does not update Go's version: it is a promise to the users.
		pins = append(pins, pin{"Go", file, goVersion(t, file)})
	}
	for _, manager := range config.CustomManagers {
		found := manager.pins(t, tracked(t))
		pins = append(pins, found...)
		if _, ok := required[manager.DepName]; !ok && len(found) < 2 {
			t.Errorf("no go.mod requires %s: correct depNameTemplate in %s", manager.DepName, renovateFile)
		}
	}
	pins = append(pins, mentions(t, "Go", regexp.MustCompile(`(?:Go |minimumGo = "go|library/golang:)(1\.[0-9]+)\b`),
		"Makefile", "README.md", devcontainerFile, "docs/prerequisites.md", "docs/teaching.md", "docs/troubleshooting.md",
		"e2e/cluster/internal/gorun/gorun.go", "e2e/cmd/testbed/internal/doctor/examine.go")...)
	for _, file := range append(glob(t, ".github/workflows/*.yml"), glob(t, ".github/actions/*/action.yml")...) {
		pins = append(pins, uses(t, file)...)
	}
	for _, sentence := range disagreements(pins, differ) {
		t.Error(sentence)
	}
}

// goVersion returns the Go release, such as 1.26, that a go.mod asks for.
func goVersion(t *testing.T, file string) string {
	t.Helper()
	parts := strings.Split(parsed(t, file).Go.Version, ".")
	return strings.Join(parts[:2], ".")
}

// uses returns the actions that a workflow uses, each with its commit and the version in the comment after it.
func uses(t *testing.T, workflow string) []pin {
	t.Helper()
	var pins []pin
	for line := range strings.Lines(read(t, workflow)) {
		_, used, found := strings.Cut(line, "uses: ")
		if !found || strings.HasPrefix(used, "./") {
			continue
		}
		name, version, _ := strings.Cut(strings.TrimSpace(used), "@")
		if !regexp.MustCompile(`^[0-9a-f]{40} # v[0-9.]+$`).MatchString(version) {
			t.Errorf("%s uses %s: pin the action to a commit, with its version in a comment", workflow, strings.TrimSpace(used))
		}
		pins = append(pins, pin{name, workflow, version})
	}
	return pins
}

// mentions returns what the pattern's only group matches in the files. It must match somewhere in each.
func mentions(t *testing.T, name string, pattern *regexp.Regexp, files ...string) []pin {
	t.Helper()
	var pins []pin
	for _, file := range files {
		found := pattern.FindAllStringSubmatch(read(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s no longer mentions the version of %s: correct docs/pins_test.go", file, name)
		}
		for _, match := range found {
			pins = append(pins, pin{name, file, match[1]})
		}
	}
	return pins
}

// goMods returns the go.mod files of the repository.
func goMods(t *testing.T) []string {
	t.Helper()
	files := slices.DeleteFunc(tracked(t), func(file string) bool { return filepath.Base(file) != "go.mod" })
	if len(files) < 2 {
		t.Fatalf("the go.mod files are %q, expected that of the root and nested ones", files)
	}
	return files
}

// requirement is a module that a go.mod requires directly.
type requirement struct {
	Path, Version string
	tool          bool // for a program that a tool line names
}

// deliberate returns what a go.mod requires directly, or for a program that a tool line names.
func deliberate(t *testing.T, file string) []requirement {
	t.Helper()
	mod := parsed(t, file)
	var found []requirement
	for _, r := range mod.Require {
		tool := slices.ContainsFunc(mod.Tool, func(tool *modfile.Tool) bool {
			return tool.Path == r.Mod.Path || strings.HasPrefix(tool.Path, r.Mod.Path+"/")
		})
		if strings.HasPrefix(r.Mod.Path, module) || r.Indirect && !tool {
			continue
		}
		found = append(found, requirement{r.Mod.Path, r.Mod.Version, tool && r.Indirect})
	}
	return found
}

func parsed(t *testing.T, file string) *modfile.File {
	t.Helper()
	mod, err := modfile.Parse(file, []byte(read(t, file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// read returns the text of a file of the repository.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	return slices.DeleteFunc(tracked(t), func(file string) bool { matched, _ := filepath.Match(pattern, file); return !matched })
}

// tracked returns the files of the repository, without those that .gitignore leaves out.
func tracked(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	files := strings.Fields(string(out))
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Stat(filepath.Join(repository, file))
		return err != nil // deleted, but not yet committed
	})
}
