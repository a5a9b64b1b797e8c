package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/example/operator-testbed/e2e/tier/summary"
	"github.com/example/operator-testbed/e2e/tier/tree"
	"github.com/example/operator-testbed/scripts/runner/times"
)

// plans are all plans, by the name that scripts/run takes.
var plans = map[string]func(Request) (Plan, error){
	"test":     test,
	"test-all": testAll,
	"rest":     rest,
	"e2e":      e2e,
	"e2e-all":  e2eAll,
	"e2e-sdk":  e2eSDK,
	"nightly":  nightly,
	"ci":       ci,
}

// Names of parts that others need.
const (
	kubernetes    = "Kubernetes is built"
	site          = "the site is made"
	suites        = "the suites on embedded clusters"
	units         = "unit tests"
	selfContained = "unit tests that start no program"
)

// buildKubernetes comes first, because it takes minutes the first time and shows progress, which a test can't. It keeps every core busy, so
// doing more in parallel would not help. It chooses GOGC for its compilers itself, unless that is set.
var buildKubernetes = Part{
	Name: kubernetes, Command: []string{"go", "-C", "kind/kubernetes", "run", "."}, Sets: "KUBEBUILDER_ASSETS", Env: []string{"GOGC=" + os.Getenv("GOGC")},
}

// onEmbedded is the environment of tests on embedded clusters. Most of what they do is compiling and linking: fewer garbage collections save
// a tenth of it. Tests that need only an API server use envtest, whose API server gets more than 20 seconds to start, because a busy machine
// may take longer.
func onEmbedded() []string {
	return []string{"CLUSTER=embedded", "GOGC=" + environment("GOGC", "200"), "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=5m"}
}

// of returns the variable that has tests of a tier run.
func of(tier string) []string { return []string{summary.Variable + "=" + tier} }

// test is make test.
func test(r Request) (Plan, error) {
	p := Plan{Name: "make test", Tiers: []string{"test"}, Env: onEmbedded()}
	if r.Stage != "" {
		return testStage(p, r)
	}
	p.About = []string{"make test: " + summary.Proves("test") + ". " + times.Sentence("make test")}
	parts, err := everySuite(r.Root)
	p.Parts = append([]Part{buildKubernetes}, parts...)
	p.AtOnce = 2
	return p, err
}

// testStage adds what make test runs for one chapter.
func testStage(p Plan, r Request) (Plan, error) {
	p.Partial, p.Chapter = true, true
	p.About = []string{"make test STAGE=" + r.Stage + ": its tests, and its suite on an embedded cluster. " + times.Sentence("make test STAGE=NN-name")}
	s, err := findStage(r.Root, r.Stage)
	if err != nil {
		return Plan{}, err
	}
	packages, err := tested(r.Root, s.operator, s.suite)
	if err != nil {
		return Plan{}, err
	}
	p.Parts = []Part{buildKubernetes, {
		Name: "tests of " + r.Stage + " on an embedded cluster", Needs: []string{kubernetes}, Env: of("test"),
		Tests: &Tests{
			// A test binary that is kept is linked again only when something in it has changed.
			Flags:    []string{"-count=1", "-vet=off", "-ldflags=-s -w", "-o=" + filepath.Join(r.Root, "bin", "tests", r.Stage) + "/"},
			Packages: packages,
		},
	}}
	return p, nil
}

// inPool has suites borrow clusters from a pool.
var inPool = []string{"bin/testbed", "pool", "with"}

// everySuite returns the parts with the tests of the default tier, which run side by side: suites wait for their clusters, and unit tests
// compute.
func everySuite(root string) ([]Part, error) {
	packages, err := defaultPackages(root)
	if err != nil {
		return nil, err
	}
	var withSuite, without []string
	for _, pkg := range packages {
		if hasSuite(pkg) {
			withSuite = append(withSuite, pkg)
		} else {
			without = append(without, pkg)
		}
	}
	reusable, err := contained(root, without)
	if err != nil {
		return nil, err
	}
	without = slices.DeleteFunc(without, func(pkg string) bool { return slices.Contains(reusable, pkg) })
	// make lint does what vet does, and more.
	flags := []string{"-vet=off", "-ldflags=-s -w"}
	return []Part{
		{
			// The Go command reuses the result of a suite until something changes that it depends on: see e2e/framework/inputs.
			Name: suites, Needs: []string{kubernetes}, Env: of("test"), In: inPool,
			Tests: &Tests{Flags: append(flags, atOnce()), Packages: withSuite},
		},
		{
			// The Go command does not know what programs read that a test starts, so it must not reuse a result.
			Name: units, Needs: []string{kubernetes}, Env: of("test"),
			Tests: &Tests{Flags: append([]string{"-count=1"}, flags...), Packages: without},
		},
		{
			// It reuses the result of any other package: most of their time is for linking.
			Name: selfContained, Needs: []string{kubernetes}, Env: of("test"),
			Tests: &Tests{Flags: flags, Packages: reusable},
		},
	}, nil
}

// defaultPackages returns the packages with tests of the default tier. Tests run in this order. The first packages take longest, and would
// run alone at the end if they kept their place in the alphabet.
func defaultPackages(root string) ([]string, error) {
	selections, err := selected(root, "test")
	if err != nil {
		return nil, err
	}
	if len(selections) != 1 || selections[0].Module != "." {
		return nil, fmt.Errorf("the tests of the default tier are in more than the root module: %+v", selections)
	}
	packages := []string{"./e2e/memcached", "./operator/internal/controller"}
	for _, pkg := range selections[0].Packages {
		if !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}
	return packages, nil
}

// hasSuite reports whether a package is a suite: that of the finished operator, or of a chapter.
func hasSuite(pkg string) bool {
	return pkg == "./e2e/memcached" || strings.HasPrefix(pkg, "./tutorial/") && strings.HasSuffix(pkg, "/test/e2e")
}

// atOnce says how many packages are tested at the same time. A suite waits for its cluster as much as it computes: one more than there are
// cores keeps them busy.
func atOnce() string { return "-p=" + strconv.Itoa(runtime.NumCPU()+1) }

// testAll is make test-all: make test, and the rest.
func testAll(r Request) (Plan, error) {
	first, err := test(r)
	if err != nil {
		return Plan{}, err
	}
	p, err := rest(r)
	if err != nil {
		return Plan{}, err
	}
	p.Name, p.Tiers = "make test-all", []string{"test", "all"}
	p.About = []string{"make test-all: what make test runs, and " + summary.Proves("all") + ". " + times.Sentence("make test-all")}
	more := slices.DeleteFunc(p.Parts, func(part Part) bool { return part.Name == kubernetes })
	for i := range more {
		more[i].Needs = append(more[i].Needs, suites, units, selfContained)
	}
	p.Parts = slices.Concat(first.Parts, more)
	return p, nil
}

// rest is what make test-all adds to make test.
func rest(r Request) (Plan, error) {
	selections, err := selected(r.Root, "all")
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Name: "the rest of make test-all", Tiers: []string{"all"}, Env: onEmbedded(),
		// The first time, this compiles Hugo for a minute or two. Tests of its pages then find it made.
		Parts: []Part{buildKubernetes, {Name: site, Command: []string{"make", "site"}}},
	}
	for _, s := range selections {
		part := Part{Name: "tests of " + s.Module, Needs: []string{kubernetes, site}, Dir: s.Module, Env: of("all"), Tests: &Tests{Packages: s.Packages}}
		switch s.Module {
		case ".":
			part.Name = "pages, starts, solutions, ejected projects and tools"
			// The longest first.
			longest := []string{"./tutorial/internal/exercises", "./tutorial", "./e2e/conformance", "./docs", "./tutorial/internal/eject"}
			part.Tests = &Tests{
				Flags:    []string{"-count=1", "-vet=off", atOnce(), "-run=" + s.Run},
				Packages: append(longest, slices.DeleteFunc(s.Packages, func(pkg string) bool { return slices.Contains(longest, pkg) })...),
			}
		case "tutorial/browser": // they look at what make site and make learn serve, of which the Go command knows nothing either
			part.Tests.Flags = []string{"-count=1"}
		}
		p.Parts = append(p.Parts, part)
	}
	// A mutant proves something only about tests that pass on the healthy operator. In make test they have just done so.
	p.Parts = append(p.Parts, Part{Name: "mutants", Needs: []string{kubernetes}, Command: []string{"scripts/mutants", "-healthy=false"}})
	return p, nil
}

// selected returns what to run for a tier.
func selected(root, tier string) ([]tree.Selection, error) {
	tests, err := tree.Read(root)
	if err != nil {
		return nil, err
	}
	return tree.Plan(tests, tier), nil
}

// e2e is make e2e: the suites, or that of a chapter, on a kind of cluster. On kind, it leaves out what simulated pods show as well.
func e2e(r Request) (Plan, error) {
	if r.Cluster == "kind" && r.Stage == "" {
		return onKind(r), nil
	}
	return suitesOn(r)
}

// e2eAll is make e2e ALL=yes: every feature.
func e2eAll(r Request) (Plan, error) {
	if r.Cluster == "kind" && r.Stage == "" {
		return allOnKind(), nil
	}
	return suitesOn(r)
}

// e2eSDK is make e2e SDK=yes: what needs Operator SDK, on kind.
func e2eSDK(r Request) (Plan, error) {
	if r.Cluster != "kind" || r.Stage != "" {
		return Plan{}, errors.New("SDK=yes is about kind, and about no chapter: leave CLUSTER and STAGE out")
	}
	return Plan{
		Name: "make e2e SDK=yes", Tiers: []string{"nightly"}, Partial: true, Env: append(of("nightly"), "CLUSTER=kind"),
		Parts: imagesFor(buildSDK, testsOnKind(sdkOnKind, testsOfSDK(), operatorSDK)),
	}, nil
}

// sdkOnKind is the part with the tests that need Operator SDK and kind.
const sdkOnKind = "sdk-on-kind"

func testsOfSDK() Tests {
	return Tests{Flags: []string{"-run=^(TestScorecardInPods|TestHelmOperatorAsImage|TestAnsibleOperatorAsImage|TestConformanceOfAnAnsibleOperator)$"}, Packages: []string{"./e2e/sdk", "./tutorial/18-operator-sdk/test/onkind"}}
}

// suitesOn are the suites on a cluster where nothing is left out.
func suitesOn(r Request) (Plan, error) {
	p := Plan{Name: "make e2e", Tiers: []string{"e2e"}, Partial: r.Stage != "" || r.Cluster != "kind", Chapter: r.Stage != "", Env: append(of("e2e"), "CLUSTER="+r.Cluster)}
	if r.Cluster == "existing" { // no tier is about a user's cluster, which may be unable to show anything
		p.Tiers = nil
	}
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

var prepareImages = Part{Name: images, Command: []string{"bin/testbed", "kind", "prepare", "docker.io/library/memcached:1.6.39-alpine"}}

func imagesFor(parts ...Part) []Part { return append([]Part{prepareImages}, parts...) }

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
		"./tutorial/09-availability/test/e2e",
		"./tutorial/11-admission/test/e2e", "./tutorial/12-certificates/test/e2e", "./e2e/memcached",
	}
	selected := sharing(testsOnKind(SuitesOnKind, Tests{Packages: packages}, compiled), "suites")
	selected.Env = append(selected.Env, "TESTBED_SELECTION="+filepath.Join(r.Root, "e2e", "on-kind.yaml"))
	clusters := clustersAtOnce()
	return Plan{
		Name: "make e2e", Tiers: []string{"e2e"}, Env: append(of("e2e"), "CLUSTER=kind"), AtOnce: clusters,
		About: []string{fmt.Sprintf("What only real nodes can show, on kind: %d clusters at a time. make e2e ALL=yes runs every feature there. %s",
			clusters, times.Sentence("make e2e"))},
		Parts: imagesFor(
			// With -export, this compiles the tests and links nothing. It keeps a core busy while images are pulled.
			Part{Name: compiled, Command: append([]string{"go", "list", "-test", "-export", "-f={{with .Export}}{{end}}"}, packages...)},
			selected,
			// The commands for readers who have Docker. The pages share the name of their cluster, so they follow one another.
			testsOnKind("deployment as the text types it", Tests{Flags: []string{"-run=^TestTextOnKind$", "-parallel=1"}, Packages: []string{"./tutorial"}}),
		),
	}
}

// allOnKind is what make e2e ALL=yes runs.
func allOnKind() Plan {
	clusters := clustersAtOnce()
	return Plan{
		Name: "make e2e ALL=yes", Tiers: []string{"e2e"}, Env: append(of("e2e"), "CLUSTER=kind"), AtOnce: clusters,
		About: []string{fmt.Sprintf("Every feature of the suites, on kind: %d clusters at a time.", clusters)},
		Parts: imagesFor(everyFeatureOnKind()...),
	}
}

// everyFeatureOnKind are the suites without a selection. The longest comes first.
func everyFeatureOnKind() []Part {
	return []Part{
		testsOnKind("kind-operator", Tests{Packages: []string{"./e2e/memcached", "./e2e/memcached/internal/..."}}),
		sharing(testsOnKind("kind-chapters", Tests{Packages: []string{"./tutorial/.../e2e/"}}), "chapters"),
	}
}

// ci is .ci/run: what must hold before a change lands.
func ci(r Request) (Plan, error) { return landing(r, hasEngine()), nil }

// landing is ci on a machine with a container engine, or without. Then it has one for as long as this takes, however it ends.
func landing(r Request, engine bool) Plan {
	state := stateOfCI(r.Root)
	p := Plan{
		Name: ".ci/run", Tiers: []string{"test", "all", "e2e"},
		Env: []string{
			"CI=true",                // make docker-up must not wait for an answer
			"TESTBED_STATE=" + state, // its clusters are apart from a developer's, so that what is left is of this run
			// What it proves needs no internet but a Go module proxy. The nightly workflow downloads Kubernetes.
			"TESTBED_DOWNLOAD=no",
		},
		Parts: []Part{
			{Name: "nothing runs that an earlier run has left", Do: emptyState(state)},
			{Name: "what is committed is source", Do: noBinary(r.Root)},
			{Name: "make lint", Command: []string{"make", "lint"}},
			{Name: "other platforms", Command: []string{"make", "check-platforms"}},
			{Name: "a browser, and bubblewrap", Do: browser},
			{Name: "make test", Command: []string{"make", "test"}},
			{Name: "the rest of make test-all", Needs: []string{"make test"}, Command: []string{"scripts/run", "rest"}},
		},
	}
	e2e, down := Part{Name: "make e2e", Command: []string{"make", "e2e"}}, []string{"make", "docker-down"}
	if engine {
		p.Parts = append(p.Parts, e2e)
	} else {
		p.Parts = append(p.Parts,
			Part{Name: "an engine for containers", Command: []string{"make", "docker-up"}, Finally: down},
			e2e,
			// What is left is looked for afterwards, and its daemon is in the state directory.
			Part{Name: "no engine for containers", Command: down},
		)
	}
	p.Parts = append(p.Parts,
		Part{Name: "the working tree is as committed", Do: nothingChanged(r.Root)},
		Part{Name: "nothing is left running", Do: nothingLeft(state)},
	)
	return p
}
