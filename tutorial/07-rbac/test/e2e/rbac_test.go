package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/runner"
	cachev1alpha1 "github.com/example/operator-testbed/tutorial/07-rbac/api/v1alpha1"
)

// TestForbidden takes permissions away, one at a time. When the operator lacks one for the Deployment, the Memcached's status shows
// the API server's error message. With the permission it recovers, without a restart of the operator.
func TestForbidden(t *testing.T) {
	stage.Feature("without a right").
		Assess("to create Deployments", func(ctx context.Context, s *framework.Scope) {
			giveBack := revoke(ctx, s, "apps", "deployments", "create")
			mc := create(ctx, s, s.NewName("create"), s.Size(1, 2))
			degraded(ctx, s, mc, `cannot create resource "deployments" in API group "apps"`)
			giveBack()
			settled(ctx, s, mc)
		}).
		Assess("to set blockOwnerDeletion in an owner reference", func(ctx context.Context, s *framework.Scope) {
			giveBack := revoke(ctx, s, "cache.example.com", "memcacheds/finalizers", "update")
			mc := create(ctx, s, s.NewName("finalizers"), s.Size(1, 2))
			degraded(ctx, s, mc, "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on")
			giveBack()
			settled(ctx, s, mc)
		}).
		Assess("to delete Deployments, which changing an owner requires", func(ctx context.Context, s *framework.Scope) {
			mc := create(ctx, s, s.NewName("delete"), s.Size(1, 2))
			settled(ctx, s, mc)
			giveBack := revoke(ctx, s, "apps", "deployments", "delete")
			disown(ctx, s, mc)
			degraded(ctx, s, mc, "cannot set an ownerRef on a resource you can't delete")
			giveBack()
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("OwnerReferences", ConsistOf(HaveField("UID", mc.UID))))
			settled(ctx, s, mc)
		}).
		Assess("to write the status, which only its log can report", func(ctx context.Context, s *framework.Scope) {
			mark := s.Mark()
			giveBack := revoke(ctx, s, "cache.example.com", "memcacheds/status", "patch")
			mc := create(ctx, s, s.NewName("status"), s.Size(1, 2))
			framework.WaitForRequest(ctx, s, framework.RequestInput{
				What:   "a status that is refused",
				Writes: s.Writes(mark, audit.Resource("memcacheds", "status")),
				Match:  audit.Code(403),
			})
			giveBack()
			settled(ctx, s, mc)
		}).
		TestAlone(t)
}

// asked are permissions that no request shows: the API server checks them when an owner reference is written. TestForbidden
// shows that each is needed.
var asked = []string{"apps/deployments delete", "cache.example.com/memcacheds/finalizers update"}

// TestNoPermissionIsUnused makes the operator do everything that it can do, and compares its requests with its permissions.
func TestNoPermissionIsUnused(t *testing.T) {
	stage.Feature("the permissions").
		Assess("are used, all of them", func(ctx context.Context, s *framework.Scope) {
			mark := s.Mark()
			// A client that can have its list streamed does not list. Not every API server can.
			restart(ctx, s, runner.WithEnv("KUBE_FEATURE_WatchListClient=false"))
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 3))
			settled(ctx, s, mc)
			// The second time, the event of the same content is patched.
			for range 2 {
				giveBack := revoke(ctx, s, "apps", "deployments", "patch")
				change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(s.Size(1, 3)) })
				degraded(ctx, s, mc, `cannot patch resource "deployments"`)
				giveBack()
				settled(ctx, s, mc)
			}
			framework.WaitForRequest(ctx, s, framework.RequestInput{
				What:   "an event that is counted on",
				Writes: s.Writes(mark, audit.Resource("events", "")),
				Match:  func(e *auditv1.Event) bool { return e.Verb == "patch" },
			})

			restart(ctx, s) // a watch is logged when it ends
			NewWithT(s).Expect(unusedPermissions(ctx, s, mark)).To(BeEmpty(), "expected every permission to be used")
		}).
		TestAlone(t)
}

// TestUsers shows which access to Memcacheds the cluster's own roles grant.
func TestUsers(t *testing.T) {
	framework.Given(stage.Feature("people"), memcached).
		Assess("with the role edit may edit Memcacheds", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			ann := somebody(ctx, s, "ann", "edit")
			untilAllowed(ctx, s, "ann", "create")
			NewWithT(s).Expect(ann.Create(ctx, mc)).To(Succeed())
			settled(ctx, s, mc)
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"nodes":["mine"]}}`))
			forbidden(s, ann.Status().Patch(ctx, mc.DeepCopy(), patch), `cannot patch resource "memcacheds/status"`)
		}).
		Assess("with the role view may view them", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			bob := somebody(ctx, s, "bob", "view")
			untilAllowed(ctx, s, "bob", "get")
			NewWithT(s).Expect(bob.Get(ctx, client.ObjectKeyFromObject(mc), mc)).To(Succeed())
			forbidden(s, bob.Create(ctx, memcached(ctx, s)), `cannot create resource "memcacheds"`)
		}).
		Test(t)
}

// memcached is a Memcached that does not exist yet.
func memcached(_ context.Context, s *framework.Scope) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("cache")},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(s.Size(1, 2))},
	}
}

// somebody returns a client of a user who has one of the cluster's own roles in the feature's namespace.
func somebody(ctx context.Context, s *framework.Scope, user, role string) client.Client {
	s.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName(user)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	NewWithT(s).Expect(s.Client.Create(ctx, binding)).To(Succeed())
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	NewWithT(s).Expect(err).NotTo(HaveOccurred())
	return c
}

// forbidden asserts that the API server has refused a request because of a missing permission.
func forbidden(s *framework.Scope, err error, why string) {
	s.Helper()
	g := NewWithT(s)
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "expected Forbidden: %s; last seen: %v", why, err)
	g.Expect(err).To(MatchError(ContainSubstring(why)))
}

// degraded waits until the Memcached's status and an event report what the API server refuses.
func degraded(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, message string) {
	s.Helper()
	const reason = cachev1alpha1.ReasonDeploymentRefused
	framework.WaitForConditions(ctx, s, mc, framework.Condition{
		Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason, Message: message,
	})
	framework.WaitForEvent(ctx, s, mc, framework.Event{Type: corev1.EventTypeWarning, Reason: reason, Note: message})
}

// disown takes the owner off the Memcached's Deployment, and with it what the Deployment's owner is found by.
func disown(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
	NewWithT(s).Expect(s.Client.Patch(ctx, deploymentOf(mc), patch, client.FieldOwner("vandal"))).To(Succeed())
}

// managerRole is the ClusterRole that controller-gen makes of the operator's markers.
const managerRole = "operator-manager-role"

// revoke takes a right off the operator, and returns when the API server acts on it. The operator gets it back by giveBack, or
// else at the end of the test.
func revoke(ctx context.Context, s *framework.Scope, group, resource, verb string) (giveBack func()) {
	s.Helper()
	before := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: managerRole}}
	framework.WaitForObject(ctx, s, before, Not(BeNil()))
	after := before.DeepCopy()
	var rules []rbacv1.PolicyRule
	for _, rule := range after.Rules {
		if slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(other string) bool { return other == verb })
		}
		if len(rule.Verbs) > 0 { // the API server takes no rule without
			rules = append(rules, rule)
		}
	}
	for _, rule := range rules {
		if has(rule.APIGroups, group) && has(rule.Resources, resource) && has(rule.Verbs, verb) {
			s.Fatalf("ClusterRole %s: expected a rule with only this verb, so that %s can be revoked on its own; last seen: verbs %q of %q in %q",
				managerRole, permission(group, resource, verb), rule.Verbs, rule.Resources, rule.APIGroups)
		}
	}
	after.Rules = rules
	swap := func(from, to *rbacv1.ClusterRole) {
		s.Helper()
		if err := s.Client.Patch(context.WithoutCancel(ctx), to.DeepCopy(), client.MergeFrom(from)); err != nil {
			s.Fatalf("changing the ClusterRole %s: %v", managerRole, err)
		}
	}
	swap(before, after)
	giveBack = sync.OnceFunc(func() { swap(after, before) })
	s.Cleanup(giveBack)
	name, subresource, _ := strings.Cut(resource, "/")
	until(ctx, s, false, s.Operator.UserName(), authorizationv1.ResourceAttributes{
		Group: group, Resource: name, Subresource: subresource, Verb: verb, Namespace: s.Namespace,
	})
	return giveBack
}

// has returns whether a list of a rule names something, or all there is.
func has(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, rbacv1.VerbAll)
}

// untilAllowed waits until a user may do something to Memcacheds.
func untilAllowed(ctx context.Context, s *framework.Scope, user, verb string) {
	s.Helper()
	until(ctx, s, true, user, authorizationv1.ResourceAttributes{
		Group: cachev1alpha1.GroupVersion.Group, Resource: "memcacheds", Verb: verb, Namespace: s.Namespace,
	})
}

// until asks the API server again and again whether a user may do something. It learns of roles by a watch of its own, which
// nobody else can watch.
func until(ctx context.Context, s *framework.Scope, allowed bool, user string, what authorizationv1.ResourceAttributes) {
	s.Helper()
	framework.WaitFor(ctx, s, fmt.Sprintf("may %s %s %s", user, what.Verb, what.Resource), func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &what}}
		err := s.Client.Create(ctx, review)
		if err == nil && review.Status.Allowed != allowed {
			err = fmt.Errorf("expected %t; last seen: %t", allowed, review.Status.Allowed)
		}
		return err
	})
}

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
		used := append(usedPermissions(s, since), asked...)
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
