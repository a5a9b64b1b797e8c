package docs_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// settingsPage is the page about settings. It lists what scripts/settings.mk and the programs know.
const settingsPage = "docs/settings.md"

// poison is a legal value of no setting.
const poison = "poison"

// makefile is a Makefile of the repository with what it includes.
type makefile struct {
	dir     string // relative to the repository's root
	text    string
	targets []string
}

// makefileIn reads the Makefile in a directory, and the files that it includes from scripts.
func makefileIn(t *testing.T, dir string, included ...string) makefile {
	t.Helper()
	m := makefile{dir: dir, text: read(t, filepath.Join(dir, "Makefile"))}
	for _, phony := range regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindAllStringSubmatch(m.text, -1) {
		for target := range strings.FieldsSeq(phony[1]) {
			if !strings.ContainsAny(target, "$/") {
				m.targets = append(m.targets, target)
			}
		}
	}
	if len(m.targets) < 5 {
		t.Fatalf("%s has the targets %q, expected more", dir, m.targets)
	}
	for _, name := range included {
		m.text += read(t, filepath.Join("scripts", name))
	}
	return m
}

// makefiles are the root's and those of all operators.
func makefiles(t *testing.T) []makefile {
	t.Helper()
	all := []makefile{makefileIn(t, ".", "settings.mk", "go-settings.mk")}
	chapters, err := filepath.Glob(filepath.Join(repository, "tutorial", "*", "Makefile"))
	if err != nil || len(chapters) == 0 {
		t.Fatalf("the chapters' Makefiles: %q, %v", chapters, err)
	}
	for _, path := range append(chapters, filepath.Join(repository, "operator", "Makefile")) {
		dir, err := filepath.Rel(repository, filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, makefileIn(t, dir, "outside-root.mk", "protected.mk", "go-settings.mk"))
	}
	return all
}

// variables returns the names of all variables that the Makefile sets or expands.
func (m makefile) variables() []string {
	var names []string
	for _, match := range regexp.MustCompile(`(?m)\$\(([A-Za-z][\w-]*)\)|^(?:export |override )*([A-Za-z][\w-]*) *[?:+]?=`).FindAllStringSubmatch(m.text, -1) {
		names = append(names, match[1]+match[2])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// make returns what make would run for a target, with the arguments, in an environment of its own with more variables. It can't reach
// the clusters of this machine.
func (m makefile) make(t *testing.T, environment []string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", append([]string{"--just-print", "--no-print-directory"}, arguments...)...)
	command.Dir = filepath.Join(repository, m.dir)
	command.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TESTBED_STATE=/nowhere", "KUBECONFIG=/nowhere", "TESTBED_KUBECONFIG=/nowhere",
	}, environment...)
	out, err := command.CombinedOutput()
	return fmt.Sprintf("%s%v", out, err)
}

// list returns the words of a variable of scripts/settings.mk.
func list(t *testing.T, name string) []string {
	t.Helper()
	text := strings.ReplaceAll(read(t, "scripts/settings.mk"), "\\\n", "")
	match := regexp.MustCompile(`(?m)^` + name + ` = (.*)$`).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("scripts/settings.mk has no %s", name)
	}
	return strings.Fields(match[1])
}

// settings returns which targets use each setting.
func settings(t *testing.T) map[string][]string {
	t.Helper()
	used := map[string][]string{}
	for _, match := range regexp.MustCompile(`(?m)^used-by-([\w-]+) = `).FindAllStringSubmatch(read(t, "scripts/settings.mk"), -1) {
		used[match[1]] = list(t, "used-by-"+match[1])
	}
	if len(used) < 30 {
		t.Fatalf("scripts/settings.mk has %d settings, expected more", len(used))
	}
	return used
}

// needsMake skips the test where there is no make.
func needsMake(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make on PATH")
	}
}

// TestEnvironmentDoesNotCount exports every variable of each Makefile, apart from those that docs/settings.md lists: each target runs
// what it runs without them.
func TestEnvironmentDoesNotCount(t *testing.T) {
	needsMake(t)
	counts := list(t, "from-environment")
	for _, m := range makefiles(t) {
		var names []string
		for _, name := range m.variables() {
			if !slices.Contains(counts, name) && !strings.HasPrefix(name, "TESTBED_") &&
				!slices.Contains([]string{"KUBECONFIG", "MAKE", "MAKEFLAGS", "MAKELEVEL", "MAKEFILE_LIST", "MAKECMDGOALS", "CURDIR"}, name) &&
				!strings.HasPrefix(name, "GO") { // see TestGoSettings {
				names = append(names, name)
			}
		}
		if len(names) < 2 {
			t.Errorf("%s/Makefile has the variables %q, expected more", m.dir, names)
		}
		for _, target := range m.targets {
			t.Run(m.dir+"/"+target, func(t *testing.T) {
				t.Parallel()
				want := m.make(t, nil, target)
				var all []string
				for _, name := range names {
					all = append(all, name+"="+poison)
				}
				if m.make(t, all, target) == want {
					return
				}
				for _, name := range names {
					if got := m.make(t, []string{name + "=" + poison}, target); got != want {
						t.Errorf("with %s=%s in the environment, make %s runs\n%s\ninstead of\n%s", name, poison, target, got, want)
					}
				}
			})
		}
	}
}

// TestSettingsAreUsed gives each setting on make's command line to each target that is listed as a user of it: it runs something else
// then, or refuses the value. All other settings are refused, and would change nothing.
func TestSettingsAreUsed(t *testing.T) {
	needsMake(t)
	m, used := makefileIn(t, "."), settings(t)
	for setting, targets := range used {
		for _, target := range targets {
			if !slices.Contains(m.targets, target) {
				t.Errorf("scripts/settings.mk has %s for a target %s, and the Makefile has none", setting, target)
			}
		}
	}
	for _, target := range m.targets {
		if slices.Contains([]string{"legal-cluster", "legal-stage", "own-cluster", "embedded-cluster", "bundled-sites"}, target) {
			continue // nobody types them
		}
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			var listed, others []string
			for _, setting := range slices.Sorted(maps.Keys(used)) {
				if slices.Contains(used[setting], target) {
					listed = append(listed, setting)
				} else {
					others = append(others, setting)
				}
			}
			want := ", nor any other setting;"
			if len(listed) > 0 {
				want = ": its settings are " + strings.Join(listed, " ") + ";"
			}
			want = "make " + target + " takes no UNKNOWN" + want
			if got := m.make(t, nil, target, "UNKNOWN=1"); !strings.Contains(got, want) {
				t.Errorf("with UNKNOWN=1, make %s prints\n%s\nexpected %q", target, got, want)
			}
			clusters := map[string]string{}
			for _, cluster := range []string{"CLUSTER=embedded", "CLUSTER=kind", "CLUSTER=existing"} {
				if cluster == "CLUSTER=embedded" || slices.Contains(listed, "CLUSTER") {
					clusters[cluster] = m.inner(t, target, cluster)
				}
			}
			for _, setting := range listed {
				// Those the programs read, and make only passes on: see TestPassedOn.
				if !slices.Contains([]string{"ENABLE_WEBHOOKS", "KEEP", "YES"}, setting) && !m.changes(t, target, clusters, setting) {
					t.Errorf("make %s runs the same with any %s: leave it out of used-by-%s in scripts/settings.mk", target, setting, setting)
				}
			}
			if !m.changes(t, target, clusters, others...) {
				return
			}
			for _, setting := range others {
				if m.changes(t, target, clusters, setting) {
					t.Errorf("make %s uses %s: add it to used-by-%s in scripts/settings.mk", target, setting, setting)
				}
			}
		})
	}
}

// changes reports whether the settings change what make runs for a target on some kind of cluster. clusters are the target's, and what it
// runs on each without settings.
func (m makefile) changes(t *testing.T, target string, clusters map[string]string, settings ...string) bool {
	t.Helper()
	values := map[string]string{"STAGE": "08-deployment", "DIR": "tutorial/03-controller", "FORCE": "1", "ALL": "yes", "SDK": "yes"}
	var given []string
	for _, setting := range settings {
		given = append(given, setting+"="+cmp.Or(values[setting], poison))
	}
	for cluster, without := range clusters {
		if m.inner(t, append([]string{target, cluster}, given...)...) != without { // of two values for CLUSTER, the last one counts
			return true
		}
	}
	return false
}

// inner returns what a make that another one calls would run: it refuses nothing. The command that asks for a cluster's kubeconfig,
// which make runs even to print what follows, succeeds.
func (m makefile) inner(t *testing.T, arguments ...string) string {
	t.Helper()
	return m.make(t, []string{"MAKELEVEL=1"}, append(arguments, "TESTBED=true")...)
}

// TestSettingsPage wants the page to name each setting, and to list exactly the variables of the environment that count.
func TestSettingsPage(t *testing.T) {
	names := func(text string) []string {
		var names []string
		for _, match := range regexp.MustCompile("`([A-Za-z_-]+)`").FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
		return names
	}
	commandLine, environment, _ := strings.Cut(read(t, settingsPage), "## Environment variables")
	// Of a row, the first cell.
	var settable, counts []string
	for line := range strings.Lines(commandLine) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			settable = append(settable, names(cells[1])...)
		}
	}
	for line := range strings.Lines(environment) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			counts = append(counts, names(cells[1])...)
		}
	}
	slices.Sort(settable)
	if want := slices.Sorted(maps.Keys(settings(t))); !slices.Equal(settable, want) {
		t.Errorf("%s lists the settings\n%q, and scripts/settings.mk has\n%q", settingsPage, settable, want)
	}
	want := slices.Concat(slices.DeleteFunc(list(t, "from-environment"), func(name string) bool { return strings.HasSuffix(name, "%") }), list(t, "testbed-variables"))
	slices.Sort(counts)
	slices.Sort(want)
	if !slices.Equal(counts, want) {
		t.Errorf("%s lists the variables\n%q, and scripts/settings.mk has\n%q", settingsPage, counts, want)
	}
}

// TestTestbedVariables looks for the variables that the code reads. make warns about any other.
func TestTestbedVariables(t *testing.T) {
	found := map[string]bool{}
	quoted := regexp.MustCompile(`"(TESTBED_[A-Z_]+)"`)
	for _, directory := range []string{"e2e", "kind", "scripts", "tutorial"} {
		err := filepath.WalkDir(filepath.Join(repository, directory), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range quoted.FindAllStringSubmatch(string(text), -1) {
				if match[1] != "TESTBED_" { // the beginning of all
					found[match[1]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range regexp.MustCompile(`TESTBED_[A-Z_]+`).FindAllString(read(t, "scripts/outside-root.mk"), -1) {
		found[name] = true
	}
	known := slices.Concat(list(t, "testbed-variables"), list(t, "internal-variables"))
	slices.Sort(known)
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, known) {
		t.Errorf("the code reads the variables\n%q, and scripts/settings.mk has\n%q", got, known)
	}
}

// TestMistypedSetting calls make with settings that there are not.
func TestMistypedSetting(t *testing.T) {
	needsMake(t)
	m := makefileIn(t, ".")
	for _, test := range []struct {
		arguments, environment []string
		want                   string
	}{
		{[]string{"demo", "SATGE=03-controller"}, nil, "*** make demo takes no SATGE: its settings are CLUSTER ENABLE_WEBHOOKS KUBERNETES NAME; docs/settings.md explains them."},
		{[]string{"progress", "DIR=copy"}, nil, "*** make progress takes no DIR, nor any other setting; docs/settings.md lists them."},
		{[]string{"demo", "TESTBED_TIMOUT=1s"}, nil, "*** make demo takes no TESTBED_TIMOUT: "},
		{[]string{"demo"}, []string{"TESTBED_TIMOUT=1s"}, "the testbed reads no variable TESTBED_TIMOUT, which your shell exports: docs/settings.md lists those that it reads"},
		{[]string{"-e", "demo"}, nil, "*** make -e takes settings from the environment"},
		{[]string{"demo"}, []string{"MAKEFLAGS=ek"}, "*** make -e takes settings from the environment"},
		{[]string{"build", "STAGE=03-controller", "DIR=copy"}, nil, "*** DIR=copy is a copy that knows its chapter: leave STAGE=03-controller out."},
		{[]string{"uninstall", "CLUSTER=existing", "KUBECTL=kubectl --context=prod"}, nil, "*** KUBECTL=kubectl --context=prod has arguments, which could lead to another cluster than the one that CLUSTER=existing shows: give only the path of kubectl."},
		{[]string{"undeploy", "CLUSTER=existing", "KUBECTL=env KUBECONFIG=/nowhere kubectl", "STAGE=08-deployment"}, nil, "*** KUBECTL=env KUBECONFIG=/nowhere kubectl has arguments"},
	} {
		if got := m.make(t, test.environment, test.arguments...); !strings.Contains(got, test.want) {
			t.Errorf("make %q prints\n%s\nwithout %q", test.arguments, got, test.want)
		}
	}
	for _, legal := range [][]string{
		{"-k", "-j8", "demo", "NAME=example"}, {"demo", "NAME=e"}, {"--keep-going", "demo"}, {"--silent", "demo"},
		{"docker-build", "docker-push", "deploy", "CLUSTER=kind"}, {"demo", "GOMAXPROCS=1", "TESTBED_STATE=/nowhere"}, {"install", "CLUSTER=existing", "KUBECONFIG=/nowhere"},
		{"install", "KUBECTL=kubectl --v=1"}, {"install", "CLUSTER=existing", "KUBECTL=/nowhere/kubectl"},
	} {
		if got := m.make(t, nil, legal...); regexp.MustCompile(`(\.mk|Makefile):\d+: \*\*\*`).MatchString(got) {
			t.Errorf("make %q prints\n%s", legal, got)
		}
	}
}

// TestRefusedValues gives settings values with which a target would do something else than it says, or which a shell would run. make
// refuses them in one sentence, before anything runs.
func TestRefusedValues(t *testing.T) {
	needsMake(t)
	m := makefileIn(t, ".")
	const notAName = " is not a name for a cluster: use lower-case letters, digits and '-', and begin and end with a letter or a digit."
	for _, test := range []struct {
		arguments, environment []string
		want                   string
	}{
		{[]string{"down", "NAME=x;id"}, nil, "NAME=x;id" + notAName},
		{[]string{"status", "NAME=>out"}, nil, "NAME=>out" + notAName},
		{[]string{"status", "NAME=`id`"}, nil, "NAME=`id`" + notAName},
		{[]string{"up", "NAME=-a"}, nil, "NAME=-a" + notAName},
		{[]string{"up", "NAME=a-"}, nil, "NAME=a-" + notAName},
		{[]string{"up", "NAME=Ada"}, nil, "NAME=Ada" + notAName},
		{[]string{"up", "NAME=a b"}, nil, "NAME=a b" + notAName},
		{[]string{"up", "NAME="}, nil, "NAME=" + notAName},
		{[]string{"start", "STAGE=03-controller", "DIR=/tmp/it's mine"}, nil, "DIR=/tmp/it's mine has an apostrophe, which make can't pass to a shell: use a value without one."},
		{[]string{"check", "DIR=copy", "ONLY='TestNodes"}, nil, "ONLY='TestNodes has an apostrophe, "},
		{[]string{"docker-build"}, []string{"IMG=a'b"}, "IMG=a'b has an apostrophe, "},
		{[]string{"check", "DIR=a\nb"}, nil, "DIR=a\nb has a line break: use a value without one."},
		{[]string{"build", "STAGE=04-controller"}, nil, "STAGE=04-controller is now 03-controller.  Stop."},
		{[]string{"eject", "STAGE=operator-sdk/helm"}, nil, "STAGE=operator-sdk/helm is now 18-operator-sdk/helm.  Stop."},
		{[]string{"build", "STAGE=03-controller 04-status"}, nil, "there is no STAGE=03-controller 04-status: use one of "},
		{[]string{"up", "CLUSTER=embedded kind"}, nil, "there is no CLUSTER=embedded kind: use one of "},
		{[]string{"up"}, []string{"CLUSTER=embedded embedded"}, "there is no CLUSTER=embedded embedded: use one of "},
		{[]string{"up", "CLUSTER=kind", "KUBERNETES=v1.36"}, nil, "KUBERNETES=v1.36 is for embedded clusters: leave it out, because the version of a kind cluster is that of its node image."},
		{[]string{"docker-build", "ARCH=x;id"}, nil, "ARCH=x;id has more than lower-case letters and digits in it: use ARCH=arm64 or the like."},
		{[]string{"undeploy", "FORCE=2"}, nil, "FORCE=2 means nothing: use FORCE=1, or leave it out."},
		{[]string{"uninstall", "FORCE=true"}, nil, "FORCE=true means nothing: use FORCE=1, or leave it out."},
		{[]string{"e2e", "ALL=1"}, nil, "ALL=1 means nothing: use ALL=yes, or leave it out."},
		{[]string{"e2e", "SDK=1"}, nil, "SDK=1 means nothing: use SDK=yes, or leave it out."},
	} {
		got := m.make(t, test.environment, test.arguments...)
		if !strings.Contains(got, "*** "+test.want) {
			t.Errorf("make %q with %q prints\n%s\nwithout %q", test.arguments, test.environment, got, test.want)
		}
	}
	// Everything else is legal in a regular expression, a path and arguments.
	for _, legal := range [][]string{
		{"mutation", `ONLY=^(a|b)"[c]&`}, {"soak", "ARGS=-run='^a b$$'"}, {"start", "STAGE=03-controller", "DIR=/tmp/my copy; `no` command"}, {"up", "NAME=a-1"},
	} {
		if got := m.make(t, nil, legal...); strings.Contains(got, "***") {
			t.Errorf("make %q prints\n%s", legal, got)
		}
	}
}

// TestShellsReadNoValue gives settings a command to run, in each form that a shell knows inside and outside of double quotes: none
// runs it.
func TestShellsReadNoValue(t *testing.T) {
	needsMake(t)
	m := makefileIn(t, ".")
	for setting, targets := range settings(t) {
		if slices.Contains([]string{"ARGS", "KUBECTL", "CONTROLLER_GEN", "CONTAINER_TOOL"}, setting) {
			continue // these are commands, or words of one
		}
		for _, target := range targets {
			t.Run(target+"/"+setting, func(t *testing.T) {
				t.Parallel()
				const value = "`id`"
				for line := range strings.Lines(m.make(t, []string{"MAKELEVEL=1"}, target, "TESTBED=true", setting+"="+value)) {
					// make runs a line with $(MAKE) in it although it only prints, so operator/bin/multiarch may be there and refuse the value.
					if strings.Contains(line, "***") || strings.HasPrefix(line, "there is no directory ") || strings.HasPrefix(line, "multiarch: ") {
						continue // make, the shell or a program prints it
					}
					if before, _, found := strings.Cut(line, value); found && strings.Count(before, "'")%2 == 0 {
						t.Errorf("make %s %s=%s lets a shell read the value: %s", target, setting, value, line)
					}
				}
			})
		}
	}
}

// TestPathOfTheRepository copies the Makefile into directories with names that no shell would take as they are: make refuses to work there.
func TestPathOfTheRepository(t *testing.T) {
	needsMake(t)
	for name, character := range map[string]string{"it's": "'", "a$b": "$", `a"b`: `"`, "a`b": "`", "a\\b": `\`, "a#b": "", "a b": "", "a&(b);": ""} {
		root := filepath.Join(t.TempDir(), name)
		for _, file := range []string{"Makefile", "scripts/settings.mk", "scripts/go-settings.mk", "scripts/outside-root.mk", "operator/GNUmakefile", "operator/Makefile"} {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(read(t, file)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range []string{root, filepath.Join(root, "operator")} {
			want := "*** the path of this directory, " + dir + ", has " + character + " in it, which make can't pass to a shell: give it a path without."
			command := exec.CommandContext(t.Context(), "make", "--just-print", "help")
			command.Dir = dir
			command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
			out, _ := command.CombinedOutput()
			if refused := strings.Contains(string(out), want); refused != (character != "") {
				t.Errorf("make in %s prints\n%s\nand should refuse: %t, with %q", dir, out, character != "", want)
			}
		}
	}
}

// probe returns what recipes of a Makefile have in their environment.
func (m makefile) probe(t *testing.T, environment []string, arguments ...string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "probe.mk")
	if err := os.WriteFile(file, []byte("probe-environment:\n\t@env\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := "Makefile"
	if m.dir != "." {
		name = "GNUmakefile"
	}
	command := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "-f", name, "-f", file, "probe-environment"}, arguments...)...)
	command.Dir = filepath.Join(repository, m.dir)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		seen[name] = value
	}
	return seen
}

// TestPassedOn looks at the environment of what make runs: of settings that a program reads, only those that were typed are there.
func TestPassedOn(t *testing.T) {
	needsMake(t)
	m := makefileIn(t, ".")
	for _, name := range []string{"ENABLE_WEBHOOKS", "KEEP", "YES", "OPERATOR", "MANIFESTS", "SAMPLE", "MAPPING"} {
		if got := m.probe(t, []string{name + "=" + poison})[name]; got != "" {
			t.Errorf("%s=%s of the environment reaches what make runs", name, got)
		}
		// No target of its own refuses it.
		if got := m.probe(t, []string{"MAKELEVEL=1"}, name+"=typed")[name]; got != "typed" {
			t.Errorf("%s=typed on the command line is %q for what make runs", name, got)
		}
	}
}

// TestGoSettings has all that a profile can set for the Go command, and looks at what is left of it in a recipe.
func TestGoSettings(t *testing.T) {
	needsMake(t)
	left := []string{
		"GOFLAGS=-mod=vendor", "GO111MODULE=off", "GOWORK=/nowhere/go.work", "GOOS=plan9", "GOARCH=mips", "CGO_ENABLED=1", "GOROOT=/nowhere",
		"GOEXPERIMENT=none", "GOAMD64=v4", "CDPATH=/usr", "BASH_ENV=/nowhere", "SHELLOPTS=noclobber", "GIT_DIR=/nowhere", "GIT_WORK_TREE=/nowhere", "GIT_INDEX_FILE=/nowhere",
	}
	for _, m := range makefiles(t) {
		if got, want := m.make(t, left, "docker-build"), m.make(t, nil, "docker-build"); got != want {
			t.Errorf("%s: make docker-build runs\n%s\ninstead of\n%s", m.dir, got, want)
		}
		seen := m.probe(t, left)
		for name, want := range map[string]string{
			"GOFLAGS": "-trimpath -buildvcs=false -gcflags=all=-dwarf=false", "GO111MODULE": "on", "GOWORK": "off", "CGO_ENABLED": "0",
			"GOOS": goEnv(t, "GOHOSTOS"), "GOARCH": goEnv(t, "GOHOSTARCH"),
		} {
			if seen[name] != want {
				t.Errorf("%s: %s is %q in a recipe, expected %q", m.dir, name, seen[name], want)
			}
		}
		for _, name := range []string{"GOROOT", "GOEXPERIMENT", "GOAMD64", "CDPATH", "BASH_ENV", "SHELLOPTS", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} {
			if value, there := seen[name]; there {
				t.Errorf("%s: %s=%s of the environment reaches recipes", m.dir, name, value)
			}
		}
	}
	if got := makefileIn(t, ".").probe(t, []string{"TESTBED_GOFLAGS=-p=1"})["GOFLAGS"]; got != "-trimpath -buildvcs=false -gcflags=all=-dwarf=false -p=1" {
		t.Errorf("with TESTBED_GOFLAGS=-p=1, GOFLAGS is %q", got)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestMachinesPage looks for the tests that the page about machines names.
func TestMachinesPage(t *testing.T) {
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, file := range tracked(t) {
		if strings.HasSuffix(file, "_test.go") {
			for _, match := range function.FindAllStringSubmatch(read(t, file), -1) {
				declared[match[1]] = true
			}
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(read(t, "docs/machines.md"), -1)
	if len(named) < 15 {
		t.Errorf("docs/machines.md names %d tests, expected more", len(named))
	}
	for _, match := range named {
		if !declared[match[1]] {
			t.Errorf("docs/machines.md names %s, and there is no such test", match[1])
		}
	}
}
