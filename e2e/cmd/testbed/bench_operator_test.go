package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Late pods can be left out of the measurement, and numbers that measure nothing are refused.
func TestBenchOperatorNumbers(t *testing.T) {
	g := NewWithT(t)
	flags := benchOperatorFlags{objects: []int{1, 100}, late: []int{0}}
	g.Expect(flags.complete()).To(Succeed())
	g.Expect(flags.late).To(BeEmpty())

	for want, flags := range map[string]benchOperatorFlags{
		"--objects=0 measures nothing": {objects: []int{1, 0}},
		"--late=-1 measures nothing":   {late: []int{-1}},
		"--late=0 measures nothing":    {late: []int{100, 0}},
	} {
		g.Expect(flags.complete()).To(MatchError(ContainSubstring(want)))
	}
}
