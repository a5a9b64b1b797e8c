package summary

import "slices"

// tier is a group of tests that one command runs.
type tier struct {
	name    string // the value of TESTBED_TIER
	command string
	proves  string // what it proves that no earlier tier does
}

// tiers are all tiers, from the quickest to the slowest.
var tiers = []tier{
	{"test", "make test", "the unit tests, and the suites on embedded clusters"},
	{"all", "make test-all", "the commands on the pages, the start, the solution and the labs of each chapter, ejected projects, mutants, the site in a browser, and the nested modules"},
	{"e2e", "make e2e", "what needs a real kubelet: pods that run, images that are deployed"},
	{"nightly", "make nightly", "grading, random operations, each mutant on its own cluster, each permission, mutation tests, the race detector, all commands on kind, failing nodes, images for other platforms, and a machine without a network"},
}

// Tiers returns the values of TESTBED_TIER, from the quickest tier to the slowest.
func Tiers() []string {
	var names []string
	for _, t := range tiers {
		names = append(names, t.name)
	}
	return names
}

// Command returns the command that runs the tests of a tier, which is empty if there is no such tier.
func Command(tier string) string { return find(tier).command }

// Proves returns what a tier proves that no earlier one does.
func Proves(tier string) string { return find(tier).proves }

// Runs reports whether a run with TESTBED_TIER=current runs the tests of a tier. The default tier needs nothing that another lacks, and
// the nightly runs choose their tests by name.
func Runs(current, tier string) bool {
	return tier == "test" || tier == current || current == "nightly"
}

func find(name string) tier {
	if i := slices.IndexFunc(tiers, func(t tier) bool { return t.name == name }); i >= 0 {
		return tiers[i]
	}
	return tier{}
}
