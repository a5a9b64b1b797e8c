package conformance_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
)

// Both directions are a surprise: a point that does not hold although nobody says so, and one that holds although it is listed.
func TestExpect(t *testing.T) {
	claims := []conformance.Point{{Number: "1", Claim: "a"}, {Number: "2", Claim: "b"}}
	of := func(outcomes ...framework.Outcome) conformance.Report {
		var results []framework.Result
		for i, outcome := range outcomes {
			results = append(results, framework.Result{Feature: claims[i].Claim, Outcome: outcome})
		}
		return conformance.NewReport(claims, results)
	}
	known := conformance.Known{Point: "a", Reason: "because"}
	intermittent, elsewhere := known, known
	intermittent.Intermittent, elsewhere.Sample = true, "other.yaml"
	const holds, fails, untried, aside = framework.Holds, framework.DoesNotHold, framework.NotTried, framework.DoesNotApply
	for name, tc := range map[string]struct {
		report    conformance.Report
		known     []conformance.Known
		surprises []string
	}{
		"all hold":                       {of(holds, holds), nil, nil},
		"new":                            {of(holds, fails), nil, []string{`"b" does not hold`}},
		"not tried":                      {of(holds), nil, []string{`"b" was not tried`}},
		"known":                          {of(fails, holds), []conformance.Known{known}, nil},
		"known, and not tried":           {of(untried, holds), []conformance.Known{known}, nil},
		"known, and another one":         {of(fails, fails), []conformance.Known{known}, []string{`"b" does not hold`}},
		"known, but holds":               {of(holds, holds), []conformance.Known{known}, []string{`"a" holds, although it is listed as known: remove it from the file`}},
		"known, but does not apply":      {of(aside, holds), []conformance.Known{known}, []string{`"a" does not apply, although it is listed as known: remove it from the file`}},
		"intermittent, and holds":        {of(holds, holds), []conformance.Known{intermittent}, nil},
		"intermittent, and fails":        {of(fails, holds), []conformance.Known{intermittent}, nil},
		"known of one sample":            {append(of(fails, holds).OfSample("x/other.yaml"), of(fails, holds).OfSample("other.yaml")...), []conformance.Known{elsewhere}, []string{`"a" does not hold for other.yaml`}},
		"known of all, and holds of one": {append(of(fails, holds).OfSample("one.yaml"), of(holds, holds).OfSample("two.yaml")...), []conformance.Known{known}, nil},
		"known of one, and holds of it": {append(of(holds, holds).OfSample("other.yaml"), of(holds, holds).OfSample("two.yaml")...), []conformance.Known{elsewhere},
			[]string{`"a" holds for other.yaml, although it is listed as known: remove it from the file`}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			surprises, unlisted := tc.report.Expect(tc.known)
			g.Expect(surprises).To(Equal(tc.surprises))

			// Once what is new is listed, it is not a surprise.
			surprises, unlisted = tc.report.Expect(append(unlisted, tc.known...))
			g.Expect(surprises).NotTo(ContainElement(MatchRegexp(`not hold|not tried`)))
			g.Expect(unlisted).To(BeEmpty())
		})
	}
}

func TestCheckKnown(t *testing.T) {
	g, claims := NewWithT(t), []conformance.Point{{Claim: "a restart writes nothing"}, {Claim: "an upgrade replaces no pod"}}
	g.Expect(conformance.CheckKnown([]conformance.Known{{Point: "an upgrade replaces no pod"}}, claims)).To(Succeed())
	for typed, nearest := range map[string]string{
		"an upgrade replaces no pods": "an upgrade replaces no pod",
		"restart writes something":    "a restart writes nothing",
		"b":                           "a restart writes nothing",
	} {
		g.Expect(conformance.CheckKnown([]conformance.Known{{Point: typed}}, claims)).To(MatchError(
			fmt.Sprintf("there is no point %q, which is listed as known: use a claim as the report prints it, such as %q", typed, nearest)))
	}
}
