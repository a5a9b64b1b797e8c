// Package tier says which command runs a test. A test without a mark belongs to `make test`, which has to stay quick. A test that takes
// long, or needs more than Go, begins with a mark:
//
//	func TestText(t *testing.T) {
//		tier.All(t)
//		...
//	}
//
// Each test belongs to exactly one tier. Tests in modules that can't import this package, and those of the operator, which must not,
// belong to a tier as whole packages: see package tree.
//
// The marks also write attributes into the events of `go test -json`, from which package summary computes what a run has proven.
package tier

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/tier/summary"
)

// Variable is the environment variable that names the tier whose tests run. No other package reads it.
const Variable = summary.Variable

// Tier is a group of tests that one command runs.
type Tier string

// The values of TESTBED_TIER.
const (
	InTest    Tier = "test" // the default
	InAll     Tier = "all"
	InE2E     Tier = "e2e"
	InNightly Tier = "nightly"
)

// Command is the command that runs the tests of the tier.
func (t Tier) Command() string { return summary.Command(string(t)) }

// Current returns the tier whose tests run. It panics where TESTBED_TIER has another value.
func Current() Tier {
	current, err := parse(os.Getenv(Variable))
	if err != nil {
		panic(err)
	}
	return current
}

func parse(value string) (Tier, error) {
	if value == "" {
		return InTest, nil
	}
	if !slices.Contains(summary.Tiers(), value) {
		return "", fmt.Errorf("invalid %s %q: want %s", Variable, value, strings.Join(summary.Tiers(), ", "))
	}
	return Tier(value), nil
}

// All marks a test that `make test-all` runs: it needs no Docker, and takes too long for `make test`.
func All(t testing.TB) {
	t.Helper()
	mark(t, InAll)
}

// E2E marks a test that `make e2e` runs, on a kind cluster.
func E2E(t testing.TB) {
	t.Helper()
	mark(t, InE2E)
}

// Nightly marks a test that `make nightly` runs. One of the parts of that run must choose it by its name.
func Nightly(t testing.TB) {
	t.Helper()
	mark(t, InNightly)
}

func mark(t testing.TB, belongs Tier) {
	t.Helper()
	current, err := parse(os.Getenv(Variable))
	if err != nil {
		t.Fatal(err)
	}
	if !summary.Runs(string(current), string(belongs)) {
		Skipf(t, belongs, "%s runs this test, and so does go test with %s=%s", belongs.Command(), Variable, belongs)
	}
}

// Skipf skips a test, or a part of one, that another tier proves.
func Skipf(t testing.TB, belongs Tier, format string, args ...any) {
	t.Helper()

	t.Attr(summary.TierKey, string(belongs))
	t.Skipf(format, args...)
}

// NeedsEmbedded skips a test that brings embedded clusters up, or needs what they are made of, where CLUSTER does not say that it may.
func NeedsEmbedded(t testing.TB) {
	t.Helper()
	needs(t, "embedded clusters", "embedded", InTest)
}

// NeedsKind skips a test that brings kind clusters up where CLUSTER does not say that it may.
func NeedsKind(t testing.TB) {
	t.Helper()
	needs(t, "a kind cluster", "kind", InE2E)
}

// needs skips a test where CLUSTER has another value. Without a value, something has forgotten to set it, and no tier is responsible.
func needs(t testing.TB, what, value string, by Tier) {
	t.Helper()
	switch cluster := os.Getenv("CLUSTER"); cluster {
	case value:
	case "":
		t.Skipf("this test needs %s: set CLUSTER=%s, as %s does", what, value, by.Command())
	default:
		Skipf(t, by, "this test needs %s, and CLUSTER is %s", what, cluster)
	}
}

// Proves says what a test proves when it passes, such as one [summary.Feature]. The last lines of a run count it.
func Proves(t testing.TB, kind string, count int) {
	t.Helper()
	t.Attr(summary.ProvesKey, fmt.Sprintf("%s %d", kind, count))
}
