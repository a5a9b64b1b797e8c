package framework

import (
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example/operator-testbed/e2e/cluster"
)

// drawn returns what a feature is given in three calls of each kind.
func drawn(seed uint64, suite, feature string) []string {
	s := &Scope{values: newValues(seed, suite, feature)}
	var values []string
	for range 3 {
		values = append(values, s.NewName("cache"), strconv.Itoa(int(s.Size(1, 1_000_000))), strconv.Itoa(int(s.Port())))
	}
	return values
}

func TestValuesDependOnSeedSuiteAndFeature(t *testing.T) {
	first := drawn(1, "suite", "feature")
	if again := drawn(1, "suite", "feature"); !slices.Equal(first, again) {
		t.Errorf("expected the same values, got %q and %q", first, again)
	}
	for name, other := range map[string][]string{
		"seed": drawn(2, "suite", "feature"), "suite": drawn(1, "other", "feature"), "feature": drawn(1, "suite", "other"),
	} {
		for _, value := range other {
			if slices.Contains(first, value) {
				t.Errorf("expected other values for another %s, got %q and %q", name, first, other)
			}
		}
	}
}

func TestNamesDiffer(t *testing.T) {
	s, names := &Scope{values: newValues(1, "suite", "feature")}, map[string]bool{}
	for range 1000 {
		name := s.NewName("cache")
		if errs := validation.IsDNS1035Label(name); names[name] || errs != nil {
			t.Errorf("got the name %q, known before: %t, errors: %q", name, names[name], errs)
		}
		names[name] = true
	}
}

func TestSizesDifferWhereTheRangeAllows(t *testing.T) {
	for seed := range uint64(20) {
		s := &Scope{values: newValues(seed, "suite", "feature")}
		small, large, between := s.Size(1, 2), s.Size(4, 5), s.Size(1, 3)
		other, repeated := s.With(t).Size(1, 3), s.Size(1, 3)
		if small < 1 || small > 2 || large < 4 || large > 5 {
			t.Errorf("seed %d: expected sizes from 1 to 2 and from 4 to 5, got %d and %d", seed, small, large)
		}
		if between == small || between == large || other == small || other == between {
			t.Errorf("seed %d: expected sizes that differ, got %d, %d, %d, %d", seed, small, large, between, other)
		}
		if repeated < 1 || repeated > 3 {
			t.Errorf("seed %d: expected a size from 1 to 3 again, got %d", seed, repeated)
		}
	}
}

func TestPortsDiffer(t *testing.T) {
	s, ports := &Scope{values: newValues(1, "suite", "feature")}, map[int32]bool{}
	for range 100 {
		port := s.Port()
		if ports[port] || port < 49152 || port > 65535 {
			t.Errorf("got the port %d, known before: %t", port, ports[port])
		}
		ports[port] = true
	}
}

func TestSeedFromEnv(t *testing.T) {
	for text, want := range map[string]uint64{"": 1, "7": 7} {
		t.Setenv(seedVariable, text)
		if seed, err := seedFromEnv(); seed != want || err != nil {
			t.Errorf("%q: got %d, %v, expected %d", text, seed, err, want)
		}
	}
}

// without is a cluster that can do nothing.
type without struct{ cluster.Provider }

func (without) Capabilities() cluster.Capabilities { return cluster.Capabilities{} }

func TestFailurePrintsTheSeed(t *testing.T) {
	s := &Suite{cluster: without{}, artifacts: []string{"/a"}, seed: 7}
	if got, want := s.left(), []string{"What was seen of a failure: /a, with TESTBED_SEED=7"}; !slices.Equal(got, want) {
		t.Errorf("expected %q, got %q", want, got)
	}
}
