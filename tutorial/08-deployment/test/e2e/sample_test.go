package e2e

import (
	"context"
	"os"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/08-deployment/api/v1alpha1"
)

func TestSample(t *testing.T) {
	stage.Test(t, features.New("the sample").
		Assess("is served", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			settled(ctx, t, s, sample(ctx, t, s))
		})).
		Feature())
}

// sample creates the Memcached of config/samples in the feature's namespace.
func sample(ctx context.Context, t *testing.T, s *framework.Scope) *cachev1alpha1.Memcached {
	t.Helper()
	path, err := stage.Manifests("../../config/samples/cache_v1alpha1_memcached.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mc := &cachev1alpha1.Memcached{}
	if err := yaml.UnmarshalStrict(text, mc); err != nil {
		t.Fatal(err)
	}
	mc.Namespace = s.Namespace
	if err := s.Client.Create(ctx, mc); err != nil {
		t.Fatal(err)
	}
	return mc
}
