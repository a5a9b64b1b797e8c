package framework

import (
	"context"
	"slices"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// A scope speaks for the test of the step that runs, and for the feature's test afterwards: in what cleans up, too.
func TestScopeIsTheTestOfItsStep(t *testing.T) {
	var said []string
	type about struct{ what string }
	say := func(what string, s *Scope) { said = append(said, what+" "+s.Name()) }
	without := &Suite{env: env.NewWithConfig(envconf.New()).BeforeEachFeature(
		func(ctx context.Context, _ *envconf.Config, t *testing.T, _ types.Feature) (context.Context, error) {
			return context.WithValue(ctx, scopeKey{}, &Scope{T: t}), nil
		})}
	feature := without.Feature("f").
		Setup(func(_ context.Context, s *Scope) {
			s.Cleanup(func() { say("after setup:", s) })
			say("setup:", s)
		})
	Given(feature, func(_ context.Context, s *Scope) *about { say("given:", s); return &about{"two"} }).
		Setup(func(_ context.Context, s *Scope, given *about) { given.what += ":" }).
		Assess("one", func(_ context.Context, s *Scope, _ *about) {
			s.Cleanup(func() { say("after one:", s) })
			s.Run("part", func(t *testing.T) { say("part of one:", s.With(t)) })
			say("one:", s)
		}).
		Assess("two", func(_ context.Context, s *Scope, given *about) { say(given.what, s) }).
		TestAlone(t)
	t.Cleanup(func() {
		const feature = "TestScopeIsTheTestOfItsStep/f"
		want := []string{
			"setup: " + feature, "given: " + feature,
			"part of one: " + feature + "/one/part", "one: " + feature + "/one", "after one: " + feature + "/one",
			"two: " + feature + "/two",
			"after setup: " + feature,
		}
		if !slices.Equal(said, want) {
			t.Errorf("got %q\nwant %q", said, want)
		}
	})
}
