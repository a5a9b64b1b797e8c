package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
)

// What is said about the confinement is how the suite is run.
func TestConfined(t *testing.T) {
	g := NewWithT(t)
	value, note, err := confined(false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value).To(Equal(`{"optional":true,"declaredPorts":true}`))
	if _, err := confinement.Supported(); err != nil {
		g.Expect(note).To(HavePrefix("the operator runs UNCONFINED, with all your permissions: "))
	} else {
		g.Expect(note).To(MatchRegexp(`^the operator runs confined by landlock\d+\+seccomp: `))
	}
	value, note, err = confined(true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value).To(Equal("no"))
	g.Expect(note).To(HavePrefix("the operator runs unconfined, with all your permissions, "))
}

func TestChosenPoints(t *testing.T) {
	g := NewWithT(t)
	all := conformance.Checks{Operator: conformance.Mapping{}}.Points()
	g.Expect(chosenPoints(all, nil, false)).To(HaveLen(len(all)))
	chosen, err := chosenPoints(all, []string{"the Deployment has the size, up and down"}, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chosen).To(HaveExactElements(HaveField("Claim", "the Deployment has the size, up and down")))
	g.Expect(pattern(chosen)).To(Equal("^TestPoints$/^(gate|points|last)$/^(one_object_is_served|the_Deployment_has_the_size,_up_and_down)$"))
	_, err = chosenPoints(all, []string{"the size"}, true)
	g.Expect(err).To(MatchError(ContainSubstring(`there is no point "the size": use a claim from the table`)))
}

// Points that take long are left out, unless all are asked for, or one of them is.
func TestSlowPoints(t *testing.T) {
	g := NewWithT(t)
	points := []conformance.Point{{Claim: "fast"}, {Claim: "slow", Slow: true}}
	g.Expect(chosenPoints(points, nil, false)).To(HaveExactElements(HaveField("Claim", "fast")))
	g.Expect(chosenPoints(points, nil, true)).To(HaveLen(2))
	g.Expect(chosenPoints(points, []string{"slow"}, false)).To(HaveExactElements(HaveField("Claim", "slow")))
	g.Expect(points).To(HaveLen(2))
}

// The suite's report is the only source of outcomes, so one that can't be right is an error.
func TestReadResults(t *testing.T) {
	const (
		gate  = `{"test":"TestPoints/gate","feature":"` + conformance.Gate + `","outcome":"holds"}` + "\n"
		one   = `{"test":"TestPoints/points/one","feature":"one","outcome":"does not hold"}` + "\n"
		other = `{"test":"TestPoints/points/two","feature":"two","outcome":"holds"}` + "\n"
	)
	for name, test := range map[string]struct {
		report string
		want   int
		err    string
	}{
		"each once":    {gate + one + other, 2, ""},
		"cut off":      {gate + one + `{"test":"Te`, 1, ""},
		"twice":        {gate + one + strings.Replace(one, "does not hold", "holds", 1), 1, "more than one result for TestPoints/points/one"},
		"not a result": {gate + one + "PASS\n" + other, 1, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			reported := 0
			results, first, err := readResults(strings.NewReader(test.report), func(n int, _ framework.Result) { reported = n })
			g.Expect(results).To(HaveLen(test.want))
			g.Expect(reported).To(Equal(test.want))
			g.Expect(first.Outcome).To(Equal(framework.Holds))
			if test.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
			}
		})
	}
}
