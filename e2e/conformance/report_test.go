package conformance_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
)

var report = conformance.Report{
	{Point: "1", Claim: "it tells the truth", Outcome: conformance.Holds},
	{Point: "3", Claim: "the port is real", Outcome: conformance.NotApplicable, Why: "there is none"},
	{Point: "10", Claim: "it goes", Outcome: conformance.DoesNotHold, Why: "it stays:\n" + strings.Repeat("x", 1000)},
}

func TestHolds(t *testing.T) {
	g := NewWithT(t)
	holding, applying := report.Holds()
	g.Expect(holding).To(Equal(1))
	g.Expect(applying).To(Equal(2))
}

func TestText(t *testing.T) {
	NewWithT(t).Expect(report.Text()).To(Equal(`1   holds           it tells the truth
3   does not apply  the port is real
10  does not hold   it goes

3 does not apply: the port is real.
  there is none

10 does not hold: it goes.
  it stays:
  ` + strings.Repeat("x", 240) + `...
`))
}

func TestMarkdown(t *testing.T) {
	NewWithT(t).Expect(report.Markdown()).To(Equal(`| point | claim | outcome |
|---|---|---|
| 1 | it tells the truth | holds |
| 3 | the port is real | does not apply |
| 10 | it goes | does not hold |
`))
}
