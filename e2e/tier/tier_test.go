package tier_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/e2e/tier/summary"
)

func TestMain(m *testing.M) { os.Exit(reaper.Run(m)) }

// marked makes this test's executable run TestMarked.
const marked = "TIER_TEST_MARKED"

// TestMarked has a subtest for each mark. TestMarks runs it.
func TestMarked(t *testing.T) {
	if os.Getenv(marked) == "" {
		t.Skip("run by TestMarks")
	}
	t.Run("unmarked", func(*testing.T) {})
	for _, mark := range []struct {
		name string
		does func(testing.TB)
	}{
		{"all", tier.All}, {"e2e", tier.E2E}, {"nightly", tier.Nightly}, {"embedded", tier.NeedsEmbedded}, {"kind", tier.NeedsKind},
	} {
		t.Run(mark.name, func(t *testing.T) { mark.does(t) })
	}
	t.Run("proves", func(t *testing.T) { tier.Proves(t, summary.Block, 3) })
}

// outcome runs TestMarked, and returns what it printed.
func outcome(t *testing.T, environment ...string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMarked$", "-test.v")
	run.Env = append([]string{marked + "=1"}, environment...)
	out, _ := run.CombinedOutput() // what it says counts
	return string(out)
}

func TestMarks(t *testing.T) {
	for value, runs := range map[string]string{
		"":        "unmarked proves",
		"test":    "unmarked proves",
		"all":     "unmarked all proves",
		"e2e":     "unmarked e2e proves",
		"nightly": "unmarked all e2e nightly proves",
	} {
		t.Run(value, func(t *testing.T) {
			g := NewWithT(t)
			out := outcome(t, tier.Variable+"="+value)
			var passed []string
			for _, match := range regexp.MustCompile(`(?m)^ +--- PASS: TestMarked/(\S+)`).FindAllStringSubmatch(out, -1) {
				if match[1] != "embedded" && match[1] != "kind" {
					passed = append(passed, match[1])
				}
			}
			g.Expect(strings.Join(passed, " ")).To(Equal(runs), "with %s=%s, it printed\n%s", tier.Variable, value, out)
		})
	}
}

func TestSkippedTestNamesTheCommand(t *testing.T) {
	g := NewWithT(t)
	out := outcome(t)
	for belongs, command := range map[string]string{"all": "make test-all", "e2e": "make e2e", "nightly": "make nightly"} {
		g.Expect(out).To(ContainSubstring("=== ATTR  TestMarked/" + belongs + " testbed.tier " + belongs + "\n"))
		g.Expect(out).To(ContainSubstring(command + " runs this test, and so does go test with TESTBED_TIER=" + belongs + "\n"))
	}
	g.Expect(out).To(ContainSubstring("=== ATTR  TestMarked/proves testbed.proves block 3\n"))
}

func TestInvalidTier(t *testing.T) {
	out := outcome(t, tier.Variable+"=daily")
	NewWithT(t).Expect(out).To(ContainSubstring(`invalid TESTBED_TIER "daily": want test, all, e2e, nightly`))
}

// TestNeeds checks that a missing CLUSTER is never taken for a reason to leave a test to another tier.
func TestNeeds(t *testing.T) {
	g := NewWithT(t)
	out := outcome(t, "CLUSTER=embedded")
	g.Expect(out).To(ContainSubstring("--- PASS: TestMarked/embedded"))
	g.Expect(out).To(ContainSubstring("this test needs a kind cluster, and CLUSTER is embedded"))
	g.Expect(out).To(ContainSubstring("=== ATTR  TestMarked/kind testbed.tier e2e\n"))

	out = outcome(t)
	g.Expect(out).To(ContainSubstring("this test needs embedded clusters: set CLUSTER=embedded, as make test does"))
	g.Expect(out).To(ContainSubstring("this test needs a kind cluster: set CLUSTER=kind, as make e2e does"))
	g.Expect(out).NotTo(Or(ContainSubstring("=== ATTR  TestMarked/embedded"), ContainSubstring("=== ATTR  TestMarked/kind")))

	out = outcome(t, "CLUSTER=kind")
	g.Expect(out).To(ContainSubstring("--- PASS: TestMarked/kind"))
	g.Expect(out).To(ContainSubstring("this test needs embedded clusters, and CLUSTER is kind"))
	g.Expect(out).To(ContainSubstring("=== ATTR  TestMarked/embedded testbed.tier test\n"))
}

func TestCurrent(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(tier.Variable, "")
	g.Expect(tier.Current()).To(Equal(tier.InTest))
	t.Setenv(tier.Variable, "nightly")
	g.Expect(tier.Current()).To(Equal(tier.InNightly))
	g.Expect(tier.Current().Command()).To(Equal("make nightly"))
	t.Setenv(tier.Variable, "weekly")
	g.Expect(func() { tier.Current() }).To(PanicWith(MatchError(ContainSubstring("invalid TESTBED_TIER"))))
}
