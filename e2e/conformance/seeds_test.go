package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
)

// seeds is with how many seeds each operator is tried.
const seeds = 20

// TestSeeds tries the points that draw most, which are names, sizes and cut points. Whatever is drawn, none of them holds for an operator
// with the fault that it is about, and all of them hold for ours.
func TestSeeds(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	name := createCluster(t)
	healthy := func(t *testing.T) conformance.Prepared {
		return prepared(t, os.Getenv("OPERATOR"), os.Getenv("MANIFESTS"))
	}
	mapped := []string{"a changed number of replicas is put back", "a changed image is put back", "a changed security context is put back", "a removed owner reference is put back"}
	sampled := []string{changed, sharedOwned, stale}
	const memcached = "operator/config/samples/cache_v1alpha1_memcached.yaml"
	for _, tc := range []struct {
		name     string
		operator func(t *testing.T) conformance.Prepared
		sample   string // of the repository, or "" for the mapping
		expected string // the assertions that fail
		points   []string
		outcome  framework.Outcome
	}{
		{"changes that nothing undoes, by the mapping", brokenBy("drift-left-alone"), "", "to be put back", mapped, framework.DoesNotHold},
		{"changes that nothing undoes", brokenBy("drift-left-alone"), memcached, "to be put back", []string{changed}, framework.DoesNotHold},
		{"what is taken from others", brokenBy("foreign-fields-dropped", "foreign-annotations-dropped"), memcached, "of another program to stay", []string{sharedOwned}, framework.DoesNotHold},
		{"a cache that is trusted", brokenBy("testdata/trusting"), memcached, "as without watches", []string{stale}, framework.DoesNotHold},
		{"ours, by the mapping", healthy, "", "", mapped, framework.Holds},
		{"ours", healthy, memcached, "", sampled, framework.Holds},
	} {
		t.Run(tc.name, func(t *testing.T) {
			operator := tc.operator(t)
			env := []string{"TESTBED_CLUSTER=" + name, "OPERATOR=" + operator.Binary, "MANIFESTS=" + operator.Manifests, "TESTBED_EXPECTED=" + tc.expected}
			if tc.sample != "" {
				env = append(env, "SAMPLE="+filepath.Join(root, tc.sample))
			}
			for seed := 1; seed <= seeds; seed++ {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					results, output := runPoints(t, pattern(tc.points), append(env, fmt.Sprintf("TESTBED_SEED=%d", seed))...)
					outcomes, expected := map[string]framework.Outcome{}, map[string]framework.Outcome{conformance.Gate: framework.Holds}
					for _, result := range results {
						outcomes[result.Feature] = result.Outcome
					}
					for _, claim := range tc.points {
						expected[claim] = tc.outcome
					}
					NewWithT(t).Expect(outcomes).To(Equal(expected), output)
				})
			}
		})
	}
}
