package e2e

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework"
)

// TestSchema is about rules that the API server enforces with what is in the CustomResourceDefinition.
func TestSchema(t *testing.T) {
	stage.Feature("the schema").
		Assess("limits a field", func(ctx context.Context, s *framework.Scope) {
			refused(s, s.Client.Create(ctx, memcached(s, "large", 6)), "spec.size", "should be less than or equal to 5")
		}).
		Assess("limits the name, with a rule in CEL", func(ctx context.Context, s *framework.Scope) {
			refused(s, s.Client.Create(ctx, memcached(s, strings.Repeat("a", 64), 1)), "metadata.name must have at most 63 characters")
			NewWithT(s).Expect(s.Client.Create(ctx, memcached(s, strings.Repeat("a", 63), 1))).To(Succeed(), "expected that 63 characters are allowed")
		}).
		Test(t)
}
