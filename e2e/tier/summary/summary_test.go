package summary_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier/summary"
)

const pkg = "github.com/example/operator-testbed/e2e/memcached"

// events are lines of `go test -json`.
func events(list ...summary.Event) string {
	var lines strings.Builder
	for _, e := range list {
		if e.Package == "" {
			e.Package = pkg
		}
		line, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

func read(t *testing.T, text string) summary.Run {
	t.Helper()
	r, err := summary.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(test string) summary.Event  { return summary.Event{Action: "run", Test: test} }
func pass(test string) summary.Event { return summary.Event{Action: "pass", Test: test} }
func fail(test string) summary.Event { return summary.Event{Action: "fail", Test: test} }
func skip(test string) summary.Event { return summary.Event{Action: "skip", Test: test} }
func attr(test, key, value string) summary.Event {
	return summary.Event{Action: "attr", Test: test, Key: key, Value: value}
}

func output(test, text string) summary.Event {
	return summary.Event{Action: "output", Test: test, Output: text}
}

func TestProven(t *testing.T) {
	for name, test := range map[string]struct {
		events []summary.Event
		want   string
	}{
		"nothing": {nil, "Proven: nothing."},
		"tests without their subtests": {
			[]summary.Event{run("TestA"), run("TestA/one"), pass("TestA/one"), pass("TestA"), run("TestB"), pass("TestB")},
			"Proven: 2 tests.",
		},
		"features, and the suite that they are in": {
			[]summary.Event{
				attr("TestA", summary.ProvesKey, "feature 1"), pass("TestA"), attr("TestB/one", summary.ProvesKey, "feature 1"), pass("TestB/one"), pass("TestB"),
			},
			"Proven: 2 tests, 1 suite and 2 features.",
		},
		"several of a kind": {
			[]summary.Event{attr("TestText/page", summary.ProvesKey, "block 11"), attr("TestText/page", summary.ProvesKey, "block 2"), pass("TestText/page")},
			"Proven: 13 blocks.",
		},
		"every kind": {
			[]summary.Event{
				attr("TestA", summary.ProvesKey, "feature 2"), attr("TestA", summary.ProvesKey, "mutant 1"), attr("TestA", summary.ProvesKey, "block 3"), attr("TestA", summary.ProvesKey, "lab 4"), pass("TestA"),
			},
			"Proven: 1 test, 1 suite, 2 features, 1 mutant, 3 blocks and 4 labs.",
		},
		"not what fails, is skipped or never ends": {
			[]summary.Event{
				attr("TestA", summary.ProvesKey, "feature 1"), fail("TestA"), attr("TestB", summary.ProvesKey, "feature 1"), skip("TestB"),
				run("TestC"), attr("TestC", summary.ProvesKey, "feature 1"), run("TestD"), pass("TestD"), {Action: "fail"},
			},
			"Proven: 1 test (1 failed; 1 did not end).",
		},
		"a package that fails without a test": {
			[]summary.Event{run("TestA"), pass("TestA"), {Action: "fail"}},
			"Proven: 1 test (1 failed).",
		},
		"a subtest that fails": {
			[]summary.Event{run("TestA"), run("TestA/one"), fail("TestA/one"), fail("TestA"), {Action: "fail"}},
			"Proven: nothing (1 failed).",
		},
		"what Go remembers": {
			[]summary.Event{run("TestA"), pass("TestA"), output("", "ok  \t"+pkg+"\t(cached)\n"), {Action: "pass"}},
			"Proven: 1 test (packages from Go's test cache: 1).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(read(t, events(test.events...)).Proven()).To(Equal(test.want))
		})
	}
}

// TestMerge checks that a suite that runs in two parts is one suite.
func TestMerge(t *testing.T) {
	g := NewWithT(t)
	feature := func(test string) summary.Run {
		return read(t, events(attr(test, summary.ProvesKey, "feature 1"), pass(test)))
	}
	all := summary.Merge(feature("TestA"), feature("TestB"), read(t, events(fail("TestC"), skip("TestD"), run("TestE"))))
	g.Expect(all.Proven()).To(Equal("Proven: 2 tests, 1 suite and 2 features (1 failed; 1 did not end)."))
	g.Expect(all.Failed()).To(Equal([]string{"e2e/memcached TestC"}))
	g.Expect(all.Running()).To(Equal([]string{"e2e/memcached TestE"}))
	g.Expect(all.Skips()).To(HaveLen(1))
	g.Expect(all.Count(summary.Feature)).To(Equal(2))
	later := read(t, events(attr("TestA", summary.TierKey, "all"), skip("TestA"), attr("TestF", summary.TierKey, "all"), skip("TestF")))
	g.Expect(summary.Merge(later, feature("TestA")).Skips()).To(ConsistOf(HaveField("Test", "TestF")), "another part has run TestA")
	g.Expect(summary.Merge().Proven()).To(Equal("Proven: nothing."))
}

func TestNotProven(t *testing.T) {
	g := NewWithT(t)
	r := read(t, events(attr("TestA", summary.TierKey, "all"), skip("TestA"), attr("TestB", summary.TierKey, "all"), skip("TestB")))
	line := r.NotProven("test")
	g.Expect(line).To(HavePrefix("Not proven: "))
	g.Expect(line).To(ContainSubstring("make test-all (2 skipped here); "))
	g.Expect(line).To(ContainSubstring("make e2e; "))
	g.Expect(line).To(HaveSuffix("make nightly."))
	g.Expect(line).NotTo(ContainSubstring("\n"))

	g.Expect(r.NotProven("test", "all")).NotTo(Or(ContainSubstring("make test-all"), ContainSubstring("make test ")))
	g.Expect(r.NotProven("test", "all")).To(And(ContainSubstring("make e2e"), ContainSubstring("make nightly")))
	g.Expect(r.NotProven("e2e")).To(And(ContainSubstring(": make test;"), ContainSubstring("make test-all"), ContainSubstring("make nightly")))
	g.Expect(r.NotProven("e2e")).NotTo(ContainSubstring("make e2e"))
	g.Expect(r.NotProven()).To(And(ContainSubstring(": make test;"), ContainSubstring("make e2e")), "a part of a tier proves none")
	g.Expect(r.NotProven(summary.Tiers()...)).To(Equal("Not proven: nothing is left out."))
}

func TestUnexpected(t *testing.T) {
	g := NewWithT(t)
	r := read(t, events(
		attr("TestLater", summary.TierKey, "nightly"), output("TestLater", "    a_test.go:3: make nightly runs this test\n"), skip("TestLater"),
		run("TestOdd"), output("TestOdd", "=== RUN   TestOdd\n"), output("TestOdd", "    odd_test.go:14: there is no moon\n"), output("TestOdd", "--- SKIP: TestOdd (0.00s)\n"), skip("TestOdd"),
	))
	g.Expect(r.Unexpected()).To(Equal([]summary.Skip{{Package: "e2e/memcached", Test: "TestOdd", Reason: "there is no moon"}}))
	g.Expect(r.Unexpected()[0].String()).To(Equal("e2e/memcached TestOdd: there is no moon"))
	g.Expect(r.Skips()).To(ContainElement(summary.Skip{Package: "e2e/memcached", Test: "TestLater", Reason: "make nightly runs this test", Tier: "nightly"}))
}

func TestSkipped(t *testing.T) {
	g := NewWithT(t)
	g.Expect(read(t, events(
		attr("TestNight", summary.TierKey, "nightly"), skip("TestNight"), attr("TestA", summary.TierKey, "all"), skip("TestA"), attr("TestB/part", summary.TierKey, "all"), skip("TestB/part"),
		output("TestOdd", "    a_test.go:1: there is no moon\n"), skip("TestOdd"),
		output("TestParts/a", "    a_test.go:1: no such part\n"), skip("TestParts/a"), output("TestParts/b", "    a_test.go:1: no such part\n"), skip("TestParts/b"),
		output("TestParts/c", "    a_test.go:1: another reason\n"), skip("TestParts/c"),
		summary.Event{Action: "attr", Package: "docs", Test: "TestC", Key: summary.TierKey, Value: "all"}, summary.Event{Action: "skip", Package: "docs", Test: "TestC"},
	)).Skipped()).To(Equal([]string{
		"Left to make test-all: docs TestC; e2e/memcached TestA, TestB/part",
		"Left to make nightly: e2e/memcached TestNight",
		"Skipped: e2e/memcached TestOdd: there is no moon",
		"Skipped: e2e/memcached TestParts, 2 parts: no such part",
		"Skipped: e2e/memcached TestParts: another reason",
	}))
}

// TestAllowances skips tests for reasons that are listed for one of them only.
func TestAllowances(t *testing.T) {
	g := NewWithT(t)
	labels := func(test, reason string) summary.Event {
		e := output(test, "    a_test.go:1: "+reason+"\n")
		e.Package = "github.com/example/operator-testbed/e2e/host/home"
		return e
	}
	skipped := func(test string) summary.Event {
		return summary.Event{Action: "skip", Test: test, Package: "github.com/example/operator-testbed/e2e/host/home"}
	}
	const root = "only root can give a directory to another user"
	g.Expect(read(t, events(labels("TestA/one", root), skipped("TestA/one"))).Unexpected()).To(BeEmpty())
	g.Expect(read(t, events(labels("TestA/one", "no reason"), skipped("TestA/one"))).Unexpected()).To(HaveLen(1))
	g.Expect(read(t, events(output("TestA", "    a_test.go:1: "+root+"\n"), skip("TestA"))).Unexpected()).To(HaveLen(1), "the package is another one")
}

func TestReadPassesOverWhatIsNoEvent(t *testing.T) {
	r := read(t, "# e2e/memcached\n{broken\n"+events(run("TestA"), pass("TestA"))+"exit status 1")
	NewWithT(t).Expect(r.Proven()).To(Equal("Proven: 1 test."))
}

func TestReadRefusesUnknownAttributes(t *testing.T) {
	for _, e := range []summary.Event{
		attr("TestA", summary.TierKey, "daily"), attr("TestA", summary.ProvesKey, "feature"), attr("TestA", summary.ProvesKey, "wonder 1"), attr("TestA", summary.ProvesKey, "feature -1"),
	} {
		_, err := summary.Read(strings.NewReader(events(e)))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("line 1: the attribute "+e.Key+" is")), "%v", e)
	}
}

// TestEachTierHasACommand keeps the table complete.
func TestEachTierHasACommand(t *testing.T) {
	g := NewWithT(t)
	g.Expect(summary.Tiers()).To(Equal([]string{"test", "all", "e2e", "nightly"}))
	for _, name := range summary.Tiers() {
		g.Expect(summary.Command(name)).To(HavePrefix("make "))
		g.Expect(summary.Proves(name)).NotTo(BeEmpty())
	}
	g.Expect(summary.Command("daily")).To(BeEmpty())
}
