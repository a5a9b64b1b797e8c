package main

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/bench/operators"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/tier"
)

// The writes are those that the contract allows, so they are counted from the right moment, and once each. In each second in which pods get
// ready, the operator may write that once.
func TestBenchCost(t *testing.T) {
	tier.All(t)
	t.Parallel()
	g := NewWithT(t)
	b := newBed(t)
	out, err := b.command("testbed", "bench", "cost", "--objects=3", "--json").Output()
	g.Expect(err).NotTo(HaveOccurred())
	var cost operators.Cost
	g.Expect(json.Unmarshal(out, &cost)).To(Succeed(), "%s", out)
	g.Expect(cost.Objects).To(Equal(3))
	g.Expect(cost.Writes).To(And(BeNumerically(">=", 2), BeNumerically("<=", 3+cost.All.Seconds())))
	g.Expect(cost.First).To(BeNumerically(">", 0))
	g.Expect(cost.All).To(BeNumerically(">", 0))
	g.Expect(cost.CPU).To(BeNumerically(">", 0))
	g.Expect(cost.PeakMemory).To(BeNumerically(">=", cost.Memory))
	leftover.None(t, b.state)
}
