package conformance_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
)

// seeds is with how many seeds an operator that repairs nothing is tried.
const seeds = 20

// TestRepairsNothing tries the points about changes with an operator that undoes none: whatever is drawn, none of them holds.
func TestRepairsNothing(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	name, operator := createCluster(t), broken(t, "drift-left-alone")
	for seed := 1; seed <= seeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			g := NewWithT(t)
			results, output := runPoints(t, "^TestPoints$/^(gate|points)$/(is_served|is_put_back)$",
				"TESTBED_CLUSTER="+name, "OPERATOR="+operator.Binary, "MANIFESTS="+operator.Manifests, "TESTBED_EXPECTED=to be put back",
				fmt.Sprintf("TESTBED_SEED=%d", seed))
			outcomes := map[string]framework.Outcome{}
			for _, result := range results {
				outcomes[result.Feature] = result.Outcome
			}
			g.Expect(outcomes).To(Equal(map[string]framework.Outcome{
				conformance.Gate: framework.Holds,
				"a changed number of replicas is put back": framework.DoesNotHold,
				"a changed image is put back":              framework.DoesNotHold,
				"a changed security context is put back":   framework.DoesNotHold,
				"a removed owner reference is put back":    framework.DoesNotHold,
			}), output)
		})
	}
}
