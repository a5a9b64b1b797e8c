package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// implied are permissions that no request shows: the API server checks them when an owner reference is written. TestAdoption shows that
// they are needed to restore one.
var implied = []string{"apps/deployments delete", "/services delete", "cache.example.com/memcacheds/finalizers update"}

// TestNoPermissionIsUnused makes the operator do everything that it can do, and compares its requests with its permissions.
func TestNoPermissionIsUnused(t *testing.T) {
	stage.Feature("the permissions").
		Assess("are used, all of them, and only the Secret that is named is read", func(ctx context.Context, s *framework.Scope) {
			mark := s.Mark()
			// A client that can have its list streamed does not list. Not every API server can.
			restart(ctx, s, runner.WithEnv("KUBE_FEATURE_WatchListClient=false"))
			secret := createSecret(ctx, s, s.NewName("users"))
			createSecret(ctx, s, s.NewName("other"))
			mc := create(ctx, s, s.NewName("cache"), using(secret.Name), publishing(s.NewName("client")))
			settled(ctx, s, mc)
			// The second time, the event of the same content is patched.
			for range 2 {
				deleteObject(ctx, s, secret)
				framework.WaitForConditions(ctx, s, mc, secretMissing)
				secret = createSecret(ctx, s, secret.Name)
				settled(ctx, s, mc)
			}
			framework.WaitForRequest(ctx, s, framework.RequestInput{
				What:   "an event that is counted on",
				Writes: s.Writes(mark, audit.Resource("events", "")),
				Match:  func(e *auditv1.Event) bool { return e.Verb == "patch" },
			})
			unpublished := configMapOf(mc)
			change(ctx, s, mc, publishing(""))
			framework.WaitForDeletion(ctx, s, unpublished)

			restart(ctx, s) // a watch is logged when it ends
			NewWithT(s).Expect(unusedPermissions(ctx, s, mark)).To(BeEmpty(), "expected every permission to be used")
			read, err := s.Audit.Since(mark, audit.ByUser(s.Operator.UserName()), audit.InNamespace(s.Namespace), audit.Resource("secrets", ""))
			NewWithT(s).Expect(err).NotTo(HaveOccurred())
			NewWithT(s).Expect(read).To(HaveEach(HaveField("ObjectRef.Name", secret.Name)), "expected no other Secret to be read")
		}).
		TestAlone(t)
}

// managerRole is the ClusterRole that controller-gen makes of the operator's markers.
const managerRole = "operator-manager-role"

// grantedPermissions returns what the operator's ClusterRole grants, each permission as `group/resource verb`.
func grantedPermissions(ctx context.Context, s *framework.Scope) []string {
	s.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: managerRole}}
	framework.WaitForObject(ctx, s, role, Not(BeNil()))
	var permissions []string
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					permissions = append(permissions, permission(group, resource, verb))
				}
			}
		}
	}
	return permissions
}

// unusedPermissions returns the permissions that the operator has and has not used since the mark. It reads the log until the
// watches are in it, because the API server logs a watch when it ends.
func unusedPermissions(ctx context.Context, s *framework.Scope, since audit.Mark) []string {
	s.Helper()
	granted := grantedPermissions(ctx, s)
	var unused []string
	framework.WaitFor(ctx, s, "the permissions of "+s.Operator.UserName(), func(context.Context) error {
		used := append(usedPermissions(s, since), implied...)
		unused = slices.DeleteFunc(slices.Clone(granted), func(permission string) bool { return slices.Contains(used, permission) })
		if slices.ContainsFunc(unused, func(permission string) bool { return strings.HasSuffix(permission, " watch") }) {
			return fmt.Errorf("expected every permission to be used; last seen: %q", unused)
		}
		return nil
	})
	return unused
}

// usedPermissions returns what the operator's requests needed since the mark, in the same form.
func usedPermissions(s *framework.Scope, since audit.Mark) []string {
	s.Helper()
	events, err := s.Audit.Since(since, audit.ByUser(s.Operator.UserName()))
	NewWithT(s).Expect(err).NotTo(HaveOccurred())
	var permissions []string
	for _, e := range events {
		ref := e.ObjectRef
		if ref == nil || e.ResponseStatus == nil || e.ResponseStatus.Code >= 300 {
			continue
		}
		resource := ref.Resource
		if ref.Subresource != "" {
			resource += "/" + ref.Subresource
		}
		permissions = append(permissions, permission(ref.APIGroup, resource, e.Verb))
		if e.Verb == "patch" && e.ResponseStatus.Code == 201 { // an apply that creates what it does not find
			permissions = append(permissions, permission(ref.APIGroup, resource, "create"))
		}
	}
	slices.Sort(permissions)
	return slices.Compact(permissions)
}

func permission(group, resource, verb string) string {
	return fmt.Sprintf("%s/%s %s", group, resource, verb)
}

// restart starts the operator again with the changes, or as it was at first.
func restart(ctx context.Context, s *framework.Scope, changes ...runner.Change) {
	s.Helper()
	if err := s.Operator.Restart(ctx, changes...); err != nil {
		s.Fatal(err)
	}
}
