package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
)

// TestMemcachedsOf shows conditions that are about the current spec and others, of an operator that is ready and of others.
func TestMemcachedsOf(t *testing.T) {
	memcached := func(name string, conditions ...any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "team", "name": name, "generation": int64(2)},
			"spec":     map[string]any{"size": int64(3)},
			"status":   map[string]any{"conditions": conditions},
		}}
	}
	condition := func(conditionType, status string, generation int64) any {
		return map[string]any{"type": conditionType, "status": status, "observedGeneration": generation}
	}
	memcacheds := []unstructured.Unstructured{
		memcached("current", condition("Available", "False", 2), condition("Progressing", "True", 2), condition("Degraded", "False", 2)),
		memcached("outdated", condition("Available", "True", 1), condition("Progressing", "False", 2)),
	}
	const table = `MEMCACHED       SIZE   AVAILABLE                          PROGRESSING   DEGRADED
team/current    3      False                              True          False
team/outdated   3      True (about generation 1, not 2)   False         -`
	for _, test := range []struct {
		unready error
		before  string
	}{
		{nil, ""},
		{errors.New("GET /readyz: 500"), "The operator is not ready, so these conditions may be old ones: GET /readyz: 500\n"},
		{fmt.Errorf("wrapped: %w", operator.ErrNotRunning), "No operator runs beside the cluster. Unless another one does, such as that of make run, these conditions may be old ones.\n"},
	} {
		if diff := cmp.Diff(test.before+table, memcachedsOf(memcacheds, test.unready)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.unready, diff)
		}
	}
}
