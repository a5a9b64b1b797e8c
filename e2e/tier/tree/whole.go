package tree

import (
	"path"
	"slices"
	"strings"
)

// Whole is a directory whose tests all belong to one tier.
type Whole struct {
	// Dir is relative to the repository's root. It counts with everything below it.
	Dir string
	// Tier is a value of TESTBED_TIER.
	Tier string
	// Why says why its tests bear no marks.
	Why string
	// By is what runs them, where that is not the Go command with this directory.
	By string
}

const anotherModule = "a module with dependencies that the root's must not have"

// wholes are all such directories. A test says when one of them is missing here.
var wholes = []Whole{
	{Dir: "docs/example", Tier: "all", Why: "another project, which does not know of tiers", By: "the page docs/write-a-suite.md"},
	{Dir: "kind/build", Tier: "all", Why: anotherModule},
	{Dir: "kind/kubernetes", Tier: "all", Why: anotherModule},
	{Dir: "kind/node", Tier: "all", Why: anotherModule},
	{Dir: "kind/registry", Tier: "all", Why: anotherModule},
	{Dir: "scripts/alerts", Tier: "all", Why: anotherModule},
	{Dir: "scripts/release", Tier: "all", Why: anotherModule},
	{Dir: "scripts/sdk", Tier: "all", Why: anotherModule},
	{Dir: "scripts/tools", Tier: "all", Why: anotherModule},
	{Dir: "tutorial/browser", Tier: "all", Why: "it needs Chromium, and packages that nothing else does"},
}

// wholeOf returns the entry that a directory belongs to, if there is one.
func wholeOf(dir string) (Whole, bool) {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		for _, w := range wholes {
			if w.Dir == dir {
				return w, true
			}
		}
	}
	return Whole{}, false
}

// below reports whether a directory is another one, or below it.
func below(dir, above string) bool {
	return dir == above || above == "." || strings.HasPrefix(dir, above+"/")
}

// Wholes returns the directories whose tests all belong to one tier.
func Wholes() []Whole { return slices.Clone(wholes) }
