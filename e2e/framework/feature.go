package framework

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Step is one step of a feature. It fails, is skipped, and registers cleanup through the scope.
type Step func(ctx context.Context, s *Scope)

// Feature is a feature of e2e-framework whose steps get a [Scope]. Labels, and e2e-framework's flags that select features and assessments,
// work as usual. The feature runs when Test or TestAlone is called.
type Feature struct {
	suite   *Suite
	builder *features.FeatureBuilder
	illegal error   // what is wrong with its labels
	result  *result // of the run that is going on
}

// Feature returns a feature of that name without steps.
func (s *Suite) Feature(name string) *Feature {
	return &Feature{suite: s, builder: features.New(name)}
}

// WithLabel adds a label, with which e2e-framework's flag -labels selects features, and returns f. The labels [Disruptive] and [Needs] also
// decide on which clusters the feature runs; if one of these has an unknown value, the feature's test fails.
func (f *Feature) WithLabel(key, value string) *Feature {
	f.builder.WithLabel(key, value)
	f.illegal = errors.Join(f.illegal, legalLabel(key, value))
	return f
}

// Setup adds a step that prepares the feature, and returns f. If the step fails fatally, the feature ends.
func (f *Feature) Setup(step Step) *Feature {
	f.builder.Setup(f.run("", step))
	return f
}

// Assess adds a step that checks a claim, which becomes a subtest of that name, and returns f.
func (f *Feature) Assess(claim string, step Step) *Feature {
	f.builder.Assess(claim, f.run(claim, step))
	return f
}

// Test runs the feature in its own namespace, in parallel with other features.
func (f *Feature) Test(t *testing.T) {
	t.Helper()
	f.test(t, true)
}

// TestAlone runs a feature that restarts the operator or breaks the cluster. No other feature of the suite runs at the same time, because
// the testing package runs parallel tests only when all others are done.
func (f *Feature) TestAlone(t *testing.T) {
	t.Helper()
	f.test(t, false)
}

// test runs the feature and reports its result.
func (f *Feature) test(t *testing.T, parallel bool) {
	t.Helper()
	feature := f.builder.Feature()
	f.result = f.suite.report(t, feature)
	if err := errors.Join(f.illegal, legalTogether(feature.Labels(), parallel)); err != nil {
		t.Fatal(err)
	}
	f.suite.test(t, parallel, feature, f.result)
}

// run adapts a step to e2e-framework. Until the step's own cleanup is over, the scope speaks for the step's test.
func (f *Feature) run(claim string, step Step) features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		if f.result.began.IsZero() {
			f.result.began = time.Now()
		}
		s := ctx.Value(scopeKey{}).(*Scope)
		test, outer := s.T, s.step
		s.T, s.step, s.result = t, claim, f.result
		t.Cleanup(func() {
			if t.Failed() {
				s.result.note(DoesNotHold, claim, "")
			}
			s.T, s.step = test, outer
		})
		step(ctx, s)
		return ctx
	}
}

// Given returns f as a feature whose steps get the value that given returns. given runs as a Setup step, after the steps that f already
// has, and before those that are added to the returned feature. Add labels to f.
func Given[F any](f *Feature, given func(ctx context.Context, s *Scope) F) *FeatureOf[F] {
	of := &FeatureOf[F]{Feature: f}
	f.Setup(func(ctx context.Context, s *Scope) { of.given = given(ctx, s) })
	return of
}

// FeatureOf is a [Feature] whose steps get a value of type F.
type FeatureOf[F any] struct {
	*Feature

	given F
}

// StepOf is one step of a feature whose steps get a value of type F.
type StepOf[F any] func(ctx context.Context, s *Scope, given F)

// Setup is [Feature.Setup] with a step that gets the value.
func (f *FeatureOf[F]) Setup(step StepOf[F]) *FeatureOf[F] {
	f.Feature.Setup(f.with(step))
	return f
}

// Assess is [Feature.Assess] with a step that gets the value.
func (f *FeatureOf[F]) Assess(claim string, step StepOf[F]) *FeatureOf[F] {
	f.Feature.Assess(claim, f.with(step))
	return f
}

func (f *FeatureOf[F]) with(step StepOf[F]) Step {
	return func(ctx context.Context, s *Scope) { step(ctx, s, f.given) }
}
