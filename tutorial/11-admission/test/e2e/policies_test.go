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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

// TestPolicies applies the admission policies of config/policy, with no webhooks beside them that do the same.
func TestPolicies(t *testing.T) {
	const protection, creator = cachev1alpha1.AnnotationDeletionProtection, cachev1alpha1.AnnotationRequestedBy
	policies := stage.Feature("admission policies").WithLabel("disruptive", "cluster").Setup(applyPolicies)
	framework.Given(policies, func(_ context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
		return memcached(s, s.NewName("cache"), s.Size(1, 2))
	}).
		Assess("record who asked", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			proposed := memcached(s, s.NewName("trial"), s.Size(1, 2))
			framework.WaitFor(ctx, s, "a trial", func(ctx context.Context) error {
				trial := proposed.DeepCopy()
				if err := as(s, "jane").Create(ctx, trial, client.DryRunAll); err != nil {
					return err
				}
				if trial.Annotations[creator] != "jane" {
					return fmt.Errorf("expected the name of the user who creates; last seen: %v", trial.Annotations)
				}
				return nil
			})
			NewWithT(s).Expect(s.Client.Create(ctx, mc)).To(Succeed())
		}).
		Assess("warn of a change of port", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			heard, port := &warnings{}, s.Port()
			config := rest.CopyConfig(s.Config)
			config.WarningHandler = heard
			user, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
			if err != nil {
				s.Fatal(err)
			}
			framework.WaitFor(ctx, s, "a trial", func(ctx context.Context) error {
				if err := user.Patch(ctx, mc.DeepCopy(), specPatch("containerPort", port), client.DryRunAll); err != nil {
					return err
				}
				if !slices.ContainsFunc(heard.texts, func(text string) bool { return strings.Contains(text, "ValidatingAdmissionPolicy") }) {
					return fmt.Errorf("expected a warning of a policy; last seen: %q", heard.texts)
				}
				return nil
			})
		}).
		Assess("refuse to delete what is protected", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			g := NewWithT(s)
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+protection+`":"true"}}}`)).To(Succeed())
			framework.WaitFor(ctx, s, "a trial", func(ctx context.Context) error {
				err := s.Client.Delete(ctx, mc, client.DryRunAll)
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "remove that first") {
					return errors.New("expected that a policy refuses the deletion; last seen: " + fmt.Sprint(err))
				}
				return nil
			})
			g.Expect(patch(ctx, s, mc, `{"metadata":{"annotations":{"`+protection+`":null}}}`)).To(Succeed())
			g.Expect(s.Client.Delete(ctx, mc)).To(Succeed())
		}).
		TestAlone(t)
}

// applyPolicies applies the policies, and takes the webhooks away, until the test is done.
func applyPolicies(ctx context.Context, s *framework.Scope) {
	s.Helper()
	path, err := stage.Manifests("../../config/policy/policies.yaml")
	if err != nil {
		s.Fatal(err)
	}
	policies, err := manifest.Load(path)
	if err != nil {
		s.Fatal(err)
	}
	if s.Webhooks {
		removeConfigurations(ctx, s)
	}
	s.Cleanup(func() {
		if err := install.Remove(context.WithoutCancel(ctx), s.Config, policies.Objects()); err != nil {
			s.Error(err)
		}
		untilForgotten(context.WithoutCancel(ctx), s)
	})
	if err := install.Apply(ctx, s.Client, policies.Objects()); err != nil {
		s.Fatal(err)
	}
}

// untilForgotten waits until the API server enforces none of the policies any more, which can't be watched, only tried.
func untilForgotten(ctx context.Context, s *framework.Scope) {
	s.Helper()
	gone := memcached(s, s.NewName("protected"), s.Size(1, 2))
	gone.Annotations = map[string]string{cachev1alpha1.AnnotationDeletionProtection: "true"}
	if err := s.Client.Create(ctx, gone); err != nil {
		s.Error(err)
		return
	}
	framework.WaitFor(ctx, s, "a trial", func(ctx context.Context) error {
		if err := s.Client.Delete(ctx, gone, client.DryRunAll); apierrors.IsForbidden(err) {
			return errors.Join(errors.New("expected that no policy refuses a deletion"), err)
		}
		return nil
	})
}
