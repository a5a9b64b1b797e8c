package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
)

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
