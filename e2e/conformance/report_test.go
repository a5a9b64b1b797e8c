package conformance_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
)

var (
	points = []conformance.Point{
		{Number: "1", Claim: "the status is true"}, {Number: "3", Claim: "the port is real"},
		{Number: "10", Claim: "it goes"}, {Number: "10", Claim: "it goes at once"},
	}
	report = conformance.NewReport(points, []framework.Result{
		{Feature: "it goes", Outcome: framework.DoesNotHold, Message: "it stays:\n" + strings.Repeat("x", 1000)},
		{Feature: "the status is true", Outcome: framework.Holds, Reason: "so far"},
		{Feature: "the port is real", Outcome: framework.DoesNotApply, Reason: "there is none"},
	})
)

func TestCount(t *testing.T) {
	for _, outcome := range []framework.Outcome{framework.Holds, framework.DoesNotHold, framework.DoesNotApply, framework.NotTried} {
		NewWithT(t).Expect(report.Count(outcome)).To(Equal(1), string(outcome))
	}
}

func TestText(t *testing.T) {
	NewWithT(t).Expect(report.Text()).To(Equal(`1   holds           the status is true
3   does not apply  the port is real
10  does not hold   it goes
10  not tried       it goes at once

1 holds: the status is true.
  so far

3 does not apply: the port is real.
  there is none

10 does not hold: it goes.
  it stays:
  ` + strings.Repeat("x", 240) + `...

10 not tried: it goes at once.
  the suite ended before
`))
}

func TestMarkdown(t *testing.T) {
	NewWithT(t).Expect(report.Markdown()).To(Equal(`| point | claim | outcome |
|---|---|---|
| 1 | the status is true | holds |
| 3 | the port is real | does not apply |
| 10 | it goes | does not hold |
| 10 | it goes at once | not tried |
`))
}
