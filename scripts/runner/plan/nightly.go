package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/tier/summary"
)

// largestPackage is the package of the operator that has most of its code.
const largestPackage = "operator/internal/controller"

// operatorSDK is the part that builds the programs of Operator SDK.
const operatorSDK = "Operator SDK is built"

var buildSDK = Part{Name: operatorSDK, Command: []string{"make", "sdk"}}

// nightly is make nightly: everything that takes too long for a change, with nothing remembered from an earlier run. Each part takes at most
// an hour, and a part that fails stops only what needs it. .github/workflows/nightly.yml runs each part on a machine.
func nightly(r Request) (Plan, error) {
	packages, err := defaultPackages(r.Root)
	if err != nil {
		return Plan{}, err
	}
	suites := Part{
		Name: "suites", Needs: []string{kubernetes}, Env: of("test"), In: inPool,
		Tests: &Tests{Flags: []string{"-count=1", "-vet=off", atOnce()}, Packages: packages},
	}
	finished, chapters, err := withMutants(r.Root)
	if err != nil {
		return Plan{}, err
	}
	others, err := operatorPackages(r.Root)
	if err != nil {
		return Plan{}, err
	}
	others = slices.DeleteFunc(others, func(dir string) bool { return dir == largestPackage })
	tests := func(name, run string, packages ...string) Part {
		return Part{Name: name, Needs: []string{kubernetes}, Tests: &Tests{Flags: []string{"-count=1", "-vet=off", "-run=" + run}, Packages: packages}}
	}
	onKind := func(part Part) Part {
		part.Env = append(part.Env, "CLUSTER=kind")
		part.Needs = append(part.Needs, images)
		part.Tests.Flags = append(part.Tests.Flags, "-p=1")
		return part
	}
	command := func(name string, words ...string) Part {
		return Part{Name: name, Needs: []string{kubernetes}, Command: words}
	}
	alone := []string{"scripts/mutants", "-alone"}
	const grading = "./tutorial/internal/grade/grading"
	nodes := onKind(tests("nodes", "^(TestNodeFailure|TestLife|TestTemporary|TestInterrupted|TestContainer)$", "./e2e/memcached/nodes", "./e2e/cluster/kind", "./tutorial/internal/isolation"))
	soak := tests("soak", "^TestSoak$", "./e2e/memcached")
	soak.Tests.Flags = append(soak.Tests.Flags, "-soak.for=30m")
	// make e2e leaves out what simulated pods show as well.
	every := everyFeatureOnKind()
	for i := range every {
		every[i].Env = append(every[i].Env, "CLUSTER=kind", "TESTBED_TIER=e2e")
	}
	withSDK := command("sdk", "make", "test-sdk")
	withSDK.Needs = append(withSDK.Needs, operatorSDK)
	twins := tests("twins", "^(TestTwins|TestFaultyTwins|TestCosts|TestImages)$", "./tutorial/18-operator-sdk/test/twins")
	twins.Needs = append(twins.Needs, operatorSDK)
	scorecard := testsOfSDK()
	pods := onKind(Part{Name: sdkOnKind, Needs: []string{kubernetes, operatorSDK}, Tests: &Tests{Flags: append([]string{"-count=1", "-vet=off"}, scorecard.Flags...), Packages: scorecard.Packages}})
	p := Plan{
		Name: "make nightly", Tiers: []string{"test", "nightly"}, KeepGoing: true, Nightly: true,
		About: []string{"make nightly: " + summary.Proves("nightly") + ". Each part takes up to an hour; PART=name runs only one."},
		// The seed is another one each night, and the same all night.
		Env: append(slices.Concat(onEmbedded(), of("nightly")), "TESTBED_SEED="+environment("TESTBED_SEED", time.Now().UTC().Format("20060102"))),
		Parts: []Part{
			buildKubernetes,
			suites,
			command("mutants-chapters", slices.Concat(alone, chapters)...),
			command("mutants-finished", slices.Concat(alone, finished)...),
			command("rbac-proof", "make", "rbac-proof"),
			command("mutation-controller", "make", "mutation", "ONLY=^"+largestPackage+"$"),
			command("mutation-others", "make", "mutation", "ONLY=^("+strings.Join(others, "|")+")$"),
			tests("class-hostile", "^(TestHostile|TestNotes|TestHoards|TestLoud)$", grading),
			tests("class-begun", "^TestProof$", grading),
			tests("class-program", "^(TestGradingAClassForReal|TestOffline|TestWithoutWalls|TestGradeOneForReal|TestSolutions)$", "./tutorial/lab"),
			tests("class-of-thirty", "^(TestClass|TestLab)$", "./tutorial/internal/grade/classroom"),
			soak,
			command("race", "make", "test-race"),
			tests("scaffolds", "^(TestScaffolds|TestExamples|TestWithoutAClone)$", "./e2e/cmd/testbed"),
			tests("seeds", "^(TestSeeds|TestMoreSamples)$", "./e2e/conformance"),
			tests("copies", "^TestEachChapterEndsGreen$", "./tutorial/internal/exercises"),
			tests("ejected", "^TestEjectedChapters$", "./tutorial/internal/eject"),
			buildSDK,
			withSDK,
			twins,
			tests("versions", "^(TestOlderKubernetes|TestPreviousKubernetes)$", "./e2e/cmd/testbed"),
			tests("platforms", "^(TestBuildsAreReproducible|TestChaptersBuildForPlatforms)$", "./e2e/multiarch"),
			command("fuzz", "scripts/fuzz"),
			command("vulncheck", "make", "vulncheck"),
			command("offline", "scripts/prove-offline"),
			prepareImages,
			nodes,
			onKind(tests("conformance-on-kind", "^TestConformanceInAPod$", "./e2e/cmd/testbed")),
			pods,
			every[0], every[1],
			onKind(tests("texts", "^(TestCommandsOnKind|TestTextInOrder)$", "./docs", "./tutorial")),
		},
	}
	return p, nil
}

// Proving returns the names of the parts that prove something, which leaves out those that only prepare others.
func (p Plan) Proving() []string {
	var names []string
	for _, part := range p.Parts {
		if !slices.ContainsFunc(p.Parts, func(other Part) bool { return slices.Contains(other.Needs, part.Name) }) {
			names = append(names, part.Name)
		}
	}
	return names
}
