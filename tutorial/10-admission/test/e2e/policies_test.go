package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/10-admission/api/v1alpha1"
)

// TestPolicies applies the admission policies of config/policy, with no webhooks beside them that do the same.
func TestPolicies(t *testing.T) {
	const protection, creator = cachev1alpha1.AnnotationDeletionProtection, cachev1alpha1.AnnotationRequestedBy
	var mc *cachev1alpha1.Memcached
	stage.TestAlone(t, features.New("admission policies").
		Setup(framework.Step(applyPolicies)).
		Assess("record who asked", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			mc = memcached(s, "cache", 1)
			s.Expect(t).Until(ctx, "a trial", func(ctx context.Context) error {
				trial := memcached(s, "trial", 1)
				if err := as(t, s, "jane").Create(ctx, trial, client.DryRunAll); err != nil {
					return err
				}
				if trial.Annotations[creator] != "jane" {
					return fmt.Errorf("expected the name of the user who creates; last seen: %v", trial.Annotations)
				}
				return nil
			})
			NewWithT(t).Expect(s.Client.Create(ctx, mc)).To(Succeed())
		})).
		Assess("warn of a change of port", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			heard := &warnings{}
			config := rest.CopyConfig(s.Config)
			config.WarningHandler = heard
			user, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
			if err != nil {
				t.Fatal(err)
			}
			s.Expect(t).Until(ctx, "a trial", func(ctx context.Context) error {
				change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"containerPort":11311}}`))
				if err := user.Patch(ctx, mc.DeepCopy(), change, client.DryRunAll); err != nil {
					return err
				}
				if !slices.ContainsFunc(heard.texts, func(text string) bool { return strings.Contains(text, "ValidatingAdmissionPolicy") }) {
					return fmt.Errorf("expected a warning of a policy; last seen: %q", heard.texts)
				}
				return nil
			})
		})).
		Assess("refuse to delete what is protected", framework.Step(func(ctx context.Context, t *testing.T, s *framework.Scope) {
			g := NewWithT(t)
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+protection+`":"true"}}}`)).To(Succeed())
			s.Expect(t).Until(ctx, "a trial", func(ctx context.Context) error {
				err := s.Client.Delete(ctx, mc, client.DryRunAll)
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "remove that first") {
					return errors.New("expected that a policy refuses the deletion; last seen: " + fmt.Sprint(err))
				}
				return nil
			})
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+protection+`":null}}}`)).To(Succeed())
			g.Expect(s.Client.Delete(ctx, mc)).To(Succeed())
		})).
		Feature())
}

// applyPolicies applies the policies, and takes the webhooks away, until the test is done.
func applyPolicies(ctx context.Context, t *testing.T, s *framework.Scope) {
	t.Helper()
	path, err := stage.Manifests("../../config/policy/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policies, err := runner.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Webhooks {
		removeConfigurations(ctx, t, s)
	}
	t.Cleanup(func() {
		if err := runner.Remove(context.WithoutCancel(ctx), s.Config, policies.Objects()); err != nil {
			t.Error(err)
		}
		untilForgotten(context.WithoutCancel(ctx), t, s)
	})
	if err := runner.Apply(ctx, s.Client, policies.Objects()); err != nil {
		t.Fatal(err)
	}
}

// untilForgotten waits until the API server enforces none of the policies any more, which can't be watched, only tried.
func untilForgotten(ctx context.Context, t *testing.T, s *framework.Scope) {
	t.Helper()
	gone := memcached(s, "protected", 1)
	gone.Annotations = map[string]string{cachev1alpha1.AnnotationDeletionProtection: "true"}
	if err := s.Client.Create(ctx, gone); err != nil {
		t.Error(err)
		return
	}
	s.Expect(t).Until(ctx, "a trial", func(ctx context.Context) error {
		if err := s.Client.Delete(ctx, gone, client.DryRunAll); apierrors.IsForbidden(err) {
			return errors.Join(errors.New("expected that no policy refuses a deletion"), err)
		}
		return nil
	})
}
