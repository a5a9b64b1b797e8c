package e2e

import (
	"context"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
)

func TestSample(t *testing.T) {
	framework.Given(stage.Feature("the sample"), sample).
		Assess("is served", settled).
		Test(t)
}

// sample creates the Memcached of config/samples in the feature's namespace.
func sample(ctx context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
	s.Helper()
	path, err := stage.Manifests("../../config/samples/cache_v1alpha1_memcached.yaml")
	if err != nil {
		s.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	mc := &cachev1alpha1.Memcached{}
	if err := yaml.UnmarshalStrict(text, mc); err != nil {
		s.Fatal(err)
	}
	mc.Namespace = s.Namespace
	if err := s.Client.Create(ctx, mc); err != nil {
		s.Fatal(err)
	}
	return mc
}
