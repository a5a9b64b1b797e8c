package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// plans are all plans, by the name that scripts/run takes.
var plans = map[string]func(Request) (Plan, error){
	"test":    test,
	"e2e":     e2e,
	"e2e-all": e2eAll,
	"ci":      ci,
}

// test is make test.
func test(r Request) (Plan, error) {
	p := Plan{
		Name: "make test",
		// Most of this is compiling and linking: fewer garbage collections save a tenth of it. Tests that need only an API server use
		// envtest, whose API server gets more than 20 seconds to start, because a busy machine may take longer.
		Env: []string{"CLUSTER=embedded", "GOGC=" + environment("GOGC", "200"), "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=5m"},
	}
	// Kubernetes comes first, because it takes minutes the first time and shows progress, which a test can't. It keeps every core busy, so
	// doing more in parallel would not help.
	const kubernetes = "Kubernetes is built"
	p.Parts = []Part{{Name: kubernetes, Command: []string{"go", "-C", "kind/kubernetes", "run", "."}, Sets: "KUBEBUILDER_ASSETS"}}

	// A mutant proves something only about tests that pass on the healthy operator, which they have just done when the mutants' turn comes.
	mutants := []string{"scripts/mutants", "-healthy=false", "-cached=false"}

	if r.Stage != "" {
		p.About = []string{
			"make test STAGE=" + r.Stage + ": its tests, its suite on an embedded cluster, and the mutants of its operator.",
			"It takes 20 to 60 seconds on 2 cores, but minutes for 12-finished, and the first time, when everything is compiled.",
		}
		s, err := findStage(r.Root, r.Stage)
		if err != nil {
			return Plan{}, err
		}
		packages, err := tested(r.Root, s.operator, s.suite)
		if err != nil {
			return Plan{}, err
		}
		tests := "tests of " + r.Stage + " on an embedded cluster"
		p.Parts = append(p.Parts,
			// A test binary that is kept is linked again only when something in it has changed.
			Part{Name: tests, Needs: []string{kubernetes}, Tests: &Tests{
				Flags:    []string{"-count=1", "-vet=off", "-ldflags=-s -w", "-o=" + filepath.Join(r.Root, "bin", "tests", r.Stage) + "/"},
				Packages: packages,
			}},
			Part{Name: "mutants of " + r.Stage, Needs: []string{tests}, Command: append(mutants, r.Stage)},
		)
		return p, nil
	}

	patches, err := countMutants(r.Root)
	if err != nil {
		return Plan{}, err
	}
	p.About = []string{
		fmt.Sprintf("make test: the unit tests, every suite on embedded clusters, the commands of every page, and %d mutants.", patches),
		"It takes 17 to 28 minutes on 2 cores, and 20 to 45 the first time, when everything is compiled.",
	}
	const root = "unit tests, and the suites on embedded clusters"
	p.Parts = append(p.Parts,
		// The first time, this compiles Hugo for a minute or two. Tests of its pages then find it made.
		Part{Name: "the site is made", Command: []string{"make", "site"}},
		Part{Name: root, Needs: []string{kubernetes, "the site is made"}, Tests: &Tests{
			Flags: []string{
				// The Go command does not know that a suite runs the operator, so it must not reuse a cached result when only the suite is
				// unchanged. make lint does what vet does, and more.
				"-count=1", "-vet=off",
				// A suite waits for its cluster as much as it computes: one more package at a time than there are cores keeps them busy.
				"-p=" + strconv.Itoa(runtime.NumCPU()+1),
			},
			// Tests run in the order of this list. The first packages take minutes each, and would run alone at the end if they kept their
			// place in the alphabet.
			Packages: []string{"./tutorial/internal/exercises", "./tutorial", "./tutorial/internal/eject", "./e2e/memcached", "./..."},
		}},
	)
	for _, module := range []string{"kind/build", "kind/kubernetes", "kind/registry", "scripts/release", "scripts/tools"} {
		p.Parts = append(p.Parts, Part{Name: "tests of " + module, Needs: []string{kubernetes}, Dir: module, Tests: &Tests{Packages: []string{"./..."}}})
	}
	p.Parts = append(p.Parts,
		// They look at what make site and make learn serve, of which the Go command knows nothing either.
		Part{
			Name: "tests of tutorial/browser", Needs: []string{kubernetes, "the site is made"}, Dir: "tutorial/browser",
			Tests: &Tests{Flags: []string{"-count=1"}, Packages: []string{"./..."}},
		},
		Part{Name: "mutants", Needs: []string{root}, Command: mutants},
	)
	return p, nil
}

// e2e is make e2e: the suites, or that of a chapter, on a kind of cluster. On kind, it leaves out what simulated pods show as well.
func e2e(r Request) (Plan, error) {
	if r.Cluster == "kind" && r.Stage == "" {
		return onKind(r), nil
	}
	return suites(r)
}

// e2eAll is make e2e ALL=yes: every feature, and whatever else needs kind.
func e2eAll(r Request) (Plan, error) {
	if r.Cluster == "kind" && r.Stage == "" {
		return allOnKind(r), nil
	}
	return suites(r)
}

// suites are the suites where nothing is left out.
func suites(r Request) (Plan, error) {
	p := Plan{Name: "make e2e", Env: []string{"CLUSTER=" + r.Cluster}}
	if r.Stage != "" {
		s, err := findStage(r.Root, r.Stage)
		if err != nil {
			return Plan{}, err
		}
		p.Parts = []Part{{
			Name:  "the suite of " + r.Stage + " on " + r.Cluster,
			Tests: &Tests{Flags: []string{"-count=1"}, Packages: []string{"./" + s.suite}},
		}}
		return p, nil
	}
	flags := []string{"-count=1"}
	if r.Cluster != "embedded" || os.Getenv("TESTBED_CLUSTER") != "" {
		flags = append(flags, "-p=1") // one after another if they share a cluster, because they install the same CRDs
	}
	p.Parts = []Part{{
		Name:  "the suites on " + r.Cluster,
		Tests: &Tests{Flags: flags, Packages: []string{"./e2e/memcached/...", "./tutorial/.../e2e/"}},
	}}
	return p, nil
}

// SuitesOnKind is the part of make e2e that runs suites on kind.
const SuitesOnKind = "the suites"

// images is the part that has what takes long to pull or to make, before clusters need it.
const images = "images"

func imagesFor(parts ...Part) []Part {
	return append([]Part{{Name: images, Command: []string{"bin/testbed", "kind", "prepare", "docker.io/library/memcached:1.6.39-alpine"}}}, parts...)
}

// testsOnKind are tests that need images. One package runs at a time, because its cluster takes a core.
func testsOnKind(name string, tests Tests, needs ...string) Part {
	tests.Flags = append([]string{"-count=1", "-p=1", "-vet=off"}, tests.Flags...)
	return Part{Name: name, Needs: append([]string{images}, needs...), Tests: &tests}
}

// sharing has the suites of a part run one after another on one kind cluster.
func sharing(part Part, name string) Part {
	name += "-" + strconv.Itoa(os.Getpid())
	part.In = []string{"bin/testbed", "--name=" + name, "kind", "with"}
	part.Env = append(part.Env, "TESTBED_CLUSTER="+name)
	return part
}

// onKind is what make e2e runs on kind: e2e/on-kind.yaml says which features of the suites, and why not the others.
func onKind(r Request) Plan {
	const compiled = "the suites are compiled"
	// In this order, each suite upgrades the CustomResourceDefinition of the one before in place. A suite of which every feature is left
	// out is not here.
	packages := []string{
		"./tutorial/00-control-loop/test/e2e", "./tutorial/06-watches/test/e2e", "./tutorial/08-deployment/test/e2e",
		"./tutorial/10-admission/test/e2e", "./tutorial/11-certificates/test/e2e", "./e2e/memcached",
	}
	suites := sharing(testsOnKind(SuitesOnKind, Tests{Packages: packages}, compiled), "suites")
	suites.Env = append(suites.Env, "TESTBED_SELECTION="+filepath.Join(r.Root, "e2e", "on-kind.yaml"))
	clusters := clustersAtOnce()
	return Plan{
		Name: "make e2e", Env: []string{"CLUSTER=kind", "TESTBED_TIER=e2e"}, AtOnce: clusters,
		About: []string{fmt.Sprintf("What only real nodes can show, on kind: %d at a time. make e2e ALL=yes runs every feature there.", clusters)},
		Parts: imagesFor(
			// With -export, this compiles the tests and links nothing. It keeps a core busy while images are pulled.
			Part{Name: compiled, Command: append([]string{"go", "list", "-test", "-export", "-f={{with .Export}}{{end}}"}, packages...)},
			suites,
			// The commands for readers who have Docker.
			testsOnKind("deployment as the text types it", Tests{Flags: []string{"-run=^TestTextOnKind$"}, Packages: []string{"./tutorial"}}),
		),
	}
}

// allOnKind is what make e2e ALL=yes runs. The longest part comes first.
func allOnKind(Request) Plan {
	clusters := clustersAtOnce()
	return Plan{
		Name: "make e2e ALL=yes", Env: []string{"CLUSTER=kind", "TESTBED_TIER=nightly"}, AtOnce: clusters,
		About: []string{fmt.Sprintf("Everything that can run on kind: %d at a time, 25 to 40 minutes on 2 cores.", clusters)},
		Parts: imagesFor(append(
			everyFeatureOnKind(),
			testsOnKind("a container as the wall around what students hand in",
				Tests{Flags: []string{"-run=^TestContainer$"}, Packages: []string{"./tutorial/internal/isolation"}}),
			testsOnKind("the texts", Tests{Flags: []string{"-run=^(TestCommandsOnKind|TestTextInOrder)$"}, Packages: []string{"./docs", "./tutorial"}}),
			testsOnKind("nodes that fail", Tests{Packages: []string{"./e2e/memcached/nodes"}}),
			testsOnKind("a cluster's life", Tests{Packages: []string{"./e2e/cluster/kind/..."}}),
			// The clusters of this one are embedded, and compiling the operators keeps a core busy.
			testsOnKind("operators that kubebuilder generates", Tests{Flags: []string{"-run=^TestScaffolds$"}, Packages: []string{"./e2e/cmd/testbed"}}),
		)...),
	}
}

// everyFeatureOnKind are the suites without a selection.
func everyFeatureOnKind() []Part {
	return []Part{
		// The soak test takes as long as it is asked to, on an embedded cluster, whose parts it kills.
		testsOnKind("the finished operator", Tests{Flags: []string{"-skip=^TestSoak$"}, Packages: []string{"./e2e/memcached", "./e2e/memcached/internal/..."}}),
		sharing(testsOnKind("the chapters", Tests{Packages: []string{"./tutorial/.../e2e/"}}), "chapters"),
	}
}

// ci is .ci/run: what must hold before a change lands.
func ci(r Request) (Plan, error) {
	state := stateOfCI(r.Root)
	p := Plan{
		Name: ".ci/run",
		Env: []string{
			"CI=true",                // make docker-up must not wait for an answer
			"TESTBED_STATE=" + state, // its clusters are apart from a developer's, so that what is left is of this run
		},
		Parts: []Part{
			{Name: "nothing runs that an earlier run has left", Do: emptyState(state)},
			{Name: "what is committed is source", Do: noBinary(r.Root)},
			{Name: "make lint", Command: []string{"make", "lint"}},
			{Name: "other platforms", Command: []string{"make", "check-platforms"}},
			{Name: "a browser, and bubblewrap", Do: browser},
			{Name: "make test", Command: []string{"make", "test"}},
		},
	}
	// A machine without a container engine has one for as long as this takes, however it ends.
	if !hasEngine() {
		p.Parts = append(p.Parts, Part{Name: "an engine for containers", Command: []string{"make", "docker-up"}, Finally: []string{"make", "docker-down"}})
	}
	p.Parts = append(p.Parts,
		Part{Name: "make e2e", Command: []string{"make", "e2e"}},
		Part{Name: "the working tree is as committed", Do: nothingChanged(r.Root)},
		Part{Name: "nothing is left running", Do: nothingLeft(state)},
	)
	return p, nil
}
