package controller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// The ClusterRole is sufficient, and every verb in it is needed: without any one of them, the API server forbids something.
func TestRBACOnAPIServer(t *testing.T) {
	needAPIServer(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}

	t.Run("the whole role", func(t *testing.T) {
		if forbidden := forbiddenWith(t, "whole", role.Rules); len(forbidden) > 0 {
			t.Errorf("forbidden: %q", forbidden)
		}
	})
	for i, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			name := fmt.Sprintf("without %s %s", verb, strings.Join(rule.Resources, ","))
			t.Run(name, func(t *testing.T) {
				if verb == "list" {
					// A client that can watch from the start needs no list, if the API server supports that too and nothing
					// fails.
					clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, false)
				}
				rules := slices.Clone(role.Rules)
				rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(other string) bool { return other == verb })
				if len(rules[i].Verbs) == 0 {
					rules = slices.Delete(rules, i, i+1)
				}
				if forbidden := forbiddenWith(t, fmt.Sprintf("%d-%s", i, verb), rules); len(forbidden) == 0 {
					t.Error("nothing is forbidden, so nothing needs it")
				}
			})
		}
	}
}

// forbiddenWith runs an operator with these permissions through everything that it ever does, and returns the requests that the
// API server forbade.
func forbiddenWith(t *testing.T, name string, rules []rbacv1.PolicyRule) []string {
	t.Helper()
	config := rest.CopyConfig(needAPIServer(t))
	config.Impersonate.UserName = "operator-" + name
	grant(t, config.Impersonate.UserName, rules)

	s := newSiteAs(t, config)
	forbidden := func() []string { return s.traffic.refusals("403") }
	// A cache without permission to read is never filled. Its requests are refused before that, or never.
	filled, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer stop()
		s.cache.WaitForCacheSync(filled)
	}()
	if err := poll(filled, func(context.Context) (bool, error) { return len(forbidden()) > 0, nil }); err == nil {
		return forbidden()
	}

	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}}
	s.do(s.user.Create(t.Context(), mc))
	for _, before := range []func(){
		func() {},
		func() { s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { *spec.ContainerPort = 22122 }) },
		func() { s.do(s.update(mc, func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })) },
		func() { s.do(s.user.Delete(t.Context(), s.deployment(mc))) },
	} {
		before()
		s.sync(mc)
		_, err := s.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: nameOf(mc)})
		if len(forbidden()) > 0 {
			return forbidden()
		}
		s.do(err)
	}

	// The first occurrence of a failure creates an event; the second one patches the count in it.
	for _, count := range []int{1, 2} {
		s.do(s.user.Delete(t.Context(), s.deployment(mc)))
		s.newForeignDeployment(mc)
		s.sync(mc)
		_, err := s.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: nameOf(mc)})
		s.do(err)
		_ = poll(t.Context(), func(context.Context) (bool, error) {
			return len(forbidden()) > 0 || s.eventCount(mc, cachev1alpha1.ReasonNameTaken) >= count, nil
		})
		if len(forbidden()) > 0 {
			return forbidden()
		}
		if got := s.eventCount(mc, cachev1alpha1.ReasonNameTaken); got != count {
			t.Fatalf("the foreign Deployment was reported %d times, want %d", got, count)
		}
		s.do(s.user.Delete(t.Context(), s.deployment(mc)))
		s.reconcile(mc)
	}
	return nil
}

// grant gives a user these permissions and no others, and waits until they take effect.
func grant(t *testing.T, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	admin := newUser(t)
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	granted := rules[0]
	resource, subresource, _ := strings.Cut(granted.Resources[0], "/")
	err := poll(t.Context(), func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: granted.Verbs[0], Group: granted.APIGroups[0], Resource: resource, Subresource: subresource,
			},
		}}
		err := admin.Create(ctx, review)
		return review.Status.Allowed, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// poll calls done again and again, for conditions without an event to wait for.
func poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Minute, true, done) //nolint:forbidigo // a cache has no event for "up to date"
}
