package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework"
)

// TestSchema is about rules that the API server enforces with what is in the CustomResourceDefinition.
func TestSchema(t *testing.T) {
	stage.Feature("the schema").
		Assess("limits a field", func(ctx context.Context, s *framework.Scope) {
			refused(s, s.Client.Create(ctx, memcached(s, s.NewName("large"), largest+1)), "spec.size", fmt.Sprintf("should be less than or equal to %d", largest))
		}).
		Assess("limits the name, with a rule in CEL", func(ctx context.Context, s *framework.Scope) {
			const longest = 63
			mc := memcached(s, s.NewName(strings.Repeat("a", longest)), s.Size(1, 2))
			mc.Name = mc.Name[len(mc.Name)-longest-1:]
			refused(s, s.Client.Create(ctx, mc), "metadata.name must have at most 63 characters")
			mc.Name = mc.Name[1:]
			NewWithT(s).Expect(s.Client.Create(ctx, mc)).To(Succeed(), "expected that 63 characters are allowed")
		}).
		Test(t)
}
