package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

// anyPoints are the claims about the operator of any custom resource.
func (c Checks) anyPoints() []Point {
	points := []Point{
		{Number: "1", Claim: "conditions say which generation they are about", check: c.Generation},
		{Number: "2", Claim: "owned objects are put back when they are changed", check: c.OwnedChanged},
		{Number: "2", Claim: "owned objects are put back when they are deleted", check: c.OwnedDeleted},
		{Number: "6", Claim: "no write follows from a change that does not matter", check: c.Quiet},
		{Number: "6", Claim: "no write repeats the one before", check: c.Distinct},
		{Number: "6", Claim: "no write is in conflict", check: c.NoConflict},
		{Number: "6", Claim: "a restart writes nothing", alone: true, check: c.NoRestartWrites},
		{Number: "9", Claim: "owner references pass OwnerReferencesPermissionEnforcement", check: c.OwnerPermission},
		{Number: "10", Claim: "a deletion in the background leaves nothing", check: c.BackgroundDeletion},
		{Number: "10", Claim: "a deletion in the foreground leaves nothing", check: c.ForegroundDeletion},
		{Number: "9", Claim: "permissions are named one by one", Last: true, check: c.Permissions},
		{Number: "2", Claim: "what others add to owned objects is left alone", alone: true, check: c.OwnedShared},
		{Number: "2", Claim: "what others add to the object itself is left alone", check: c.ObjectShared},
		{Number: "2", Claim: "a condition that others add is left alone", check: c.ConditionShared},
		{Number: "2", Claim: "a restart of owned workloads is not undone", alone: true, check: c.Restartable},
		{Number: "8", Claim: "an autoscaler of an owned workload leads to few writes", check: c.Autoscaled},
		{Number: "8", Claim: "a policy that rewrites an owned object leads to few writes", check: c.Rewritten},
		{Number: "8", Claim: "what the API server refuses is reported within a minute", check: c.RefusalReported},
		{Number: "8", Claim: "a lasting refusal leads to few writes, and its end is noticed", Slow: true, check: c.RefusalHeals},
		{Number: "8", Claim: "an object that can't be decoded does not stop the others", alone: true, check: c.Undecodable},
		{Number: "10", Claim: "a deletion while the operator is down leaves nothing", alone: true, check: c.DeletionUnattended},
		{Number: "10", Claim: "a deletion that orphans keeps owned objects, and a new owner adopts or reports them", check: c.Orphaned},
		{Number: "5", Claim: "owned objects that a backup restores first belong to their owner again", check: c.RestoredLast},
		{Number: "5", Claim: "owned objects that a backup restores last belong to their owner", check: c.RestoredFirst},
		{Number: "manager", Claim: "a crash between two writes leads to the same owned objects", Slow: true, alone: true, check: c.Crashes},
		{Number: "manager", Claim: "watches that fall behind lead to the same owned objects", Slow: true, alone: true, check: c.Stale},
		{Number: "manager", Claim: "an upgrade and the way back restart no pod, and lead to few writes", missing: c.lacksBefore(), alone: true, check: c.Upgraded},
		{Number: "9", Claim: "the manager's pods meet the Pod Security Standard restricted", check: c.Restricted},
		{Number: "9", Claim: "the manager's containers have read-only root file systems", check: c.ReadOnly},
		{Number: "manager", Claim: "the manager's containers request CPU and memory", check: c.Requests},
		{Number: "manager", Claim: "the manager has a liveness and a readiness probe", check: c.Probes},
		{Number: "manager", Claim: "several replicas of the manager elect a leader", check: c.Elected},
	}
	for i := range points {
		check := points[i].check
		points[i].check = func(ctx context.Context, s *framework.Scope) { check(ctx, c.sample().scope(s)) }
		points[i].alone = points[i].alone || c.sample().global // whose operator may write anywhere
	}
	return points
}

// Generation checks that the observedGeneration of each condition is the current generation.
func (c Checks) Generation(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "generation", smallest)
	c.Barrier(ctx, s)
	get(ctx, s, object)
	conditions, err := framework.ConditionsOf(object)
	must(s, err)
	if len(conditions) == 0 {
		s.DoesNotApply("its status has no conditions")
	}
	current, err := arePresent(conditions, object)
	must(s, err)
	if !current {
		s.Fatalf("expected conditions of generation %d; last seen: %s", object.GetGeneration(), framework.DescribeConditions(conditions))
	}
}

// arePresent reports whether each condition of an object is about its present generation. For one that does not say, status.observedGeneration
// counts, as it does for `kubectl wait`.
func arePresent(conditions []metav1.Condition, object client.Object) (bool, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return false, err
	}
	ofStatus, _, err := unstructured.NestedInt64(content, "status", "observedGeneration")
	return err == nil && !slices.ContainsFunc(conditions, func(condition metav1.Condition) bool {
		return cmp.Or(condition.ObservedGeneration, ofStatus) != object.GetGeneration()
	}), err
}

// Distinct checks that no write repeats the previous one while objects change in ways that do not matter.
func (c Checks) Distinct(ctx context.Context, s *framework.Scope) {
	since := s.Mark()
	object, children := c.createdWithOwned(ctx, s, "repeated")
	for i := range children {
		patch(ctx, s, &children[i], note)
	}
	c.Barrier(ctx, s) // or one write could follow from all of the changes
	patch(ctx, s, object, note)
	c.Barrier(ctx, s)
	// Objects that get their names from the API server are created by equal requests.
	unknown := framework.VerifyDistinctWrites(ctx, s, writes(s, since, func(e *auditv1.Event) bool { return e.Verb != "create" }))
	if len(unknown) > 0 {
		s.Skipf("the audit log has no bodies of Secrets, so nothing is known about whether the writes to %s repeat each other", strings.Join(unknown, ", "))
	}
}

// createdWithOwned creates an object, waits until it is available, and returns it and the objects that it owns itself.
func (c Checks) createdWithOwned(ctx context.Context, s *framework.Scope, prefix string) (object client.Object, children []unstructured.Unstructured) {
	object = c.created(ctx, s, prefix, smallest)
	c.Barrier(ctx, s)
	return object, owned(c.sample().waitForReady(ctx, s, object), object)
}

// nothingOwned is why a point about owned objects does not apply.
const nothingOwned = "the sample owns no such object"

// OwnedDeleted checks that deleted owned objects come back, except for those that would come back under another name.
func (c Checks) OwnedDeleted(ctx context.Context, s *framework.Scope) {
	_, children := c.createdWithOwned(ctx, s, "deleted")
	children = slices.DeleteFunc(children, func(object unstructured.Unstructured) bool { return object.GetGenerateName() != "" })
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	for i := range children {
		deleteAndWait(ctx, s, &children[i])
	}
}

// OwnedChanged checks that the operator restores all fields that it has set in owned objects when another client changes them at once.
func (c Checks) OwnedChanged(ctx context.Context, s *framework.Scope) {
	_, children := c.createdWithOwned(ctx, s, "changed")
	if len(children) == 0 {
		s.DoesNotApply(nothingOwned)
	}
	changes := 0
	for i := range children {
		changed := damage(ctx, s, &children[i])
		changes += len(changed)
		waitForPutBack(ctx, s, &children[i], changed...)
	}
	if changes == 0 {
		s.DoesNotApply("nobody can change what the sample owns")
	}
}

// damage changes as many fields of an object as the API server allows at once, and returns JSON pointers to them.
func damage(ctx context.Context, s *framework.Scope, object *unstructured.Unstructured) (changed []string) {
	changed, damages := damagesOf(ctx, s, object)
	if len(damages) == 0 {
		return nil
	}
	damaged, err := patched(ctx, s, object, damages)
	must(s, err)
	return slices.DeleteFunc(changed, func(pointer string) bool { return valueAt(damaged, pointer) == valueAt(object, pointer) })
}

// damagesOf returns changes of as many fields of an object as the API server allows at once, and JSON pointers to these fields. It leaves
// alone what the API server would set itself, because nobody knows whether the operator has set it, too.
func damagesOf(ctx context.Context, s *framework.Scope, object *unstructured.Unstructured) (changed []string, damages []operation) {
	for _, pointer := range leaves(object.Object, "") {
		was := valueAt(object, pointer)
		if without, err := patched(ctx, s, object, []operation{{Op: "remove", Path: pointer}}, client.DryRunAll); err == nil && valueAt(without, pointer) == was {
			continue
		}
		for _, other := range otherValues(was) {
			more := append(slices.Clone(damages), operation{"replace", pointer, other})
			if damaged, err := patched(ctx, s, object, more, client.DryRunAll); err == nil && valueAt(damaged, pointer) != was {
				changed, damages = append(changed, pointer), more
				break
			}
		}
	}
	return changed, damages
}

// otherValues returns values of the same type.
func otherValues(value any) []any {
	switch value := value.(type) {
	case bool:
		return []any{!value}
	case int64:
		return []any{value + 1}
	case string:
		return []any{"other", "b3RoZXI=", "50%"} // the data of a Secret is in base64, and a number of pods may be a percentage
	}
	return nil
}

// notSpec are the fields of every object that its owner need not care for. Of its metadata, labels are left.
var notSpec = regexp.MustCompile(`^/(apiVersion|kind|status|metadata/[^l])`)

// leaves returns JSON pointers to the single values of what an operator can care for: labels, and what is not metadata nor status. Of lists,
// whose elements may be found by any of their fields, it has only images.
func leaves(content any, pointer string) (pointers []string) {
	switch node := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			pointers = append(pointers, leaves(node[name], pointer+"/"+jsonpointer.Escape(name))...)
		}
	case []any:
		for i := range node {
			if fields, ok := node[i].(map[string]any); ok && fields["image"] != nil {
				pointers = append(pointers, fmt.Sprintf("%s/%d/image", pointer, i))
			}
		}
	default:
		pointers = append(pointers, pointer)
	}
	return slices.DeleteFunc(pointers, notSpec.MatchString)
}

// Permissions checks that the operator's roles contain no wildcards, and records the permissions that no request has used. The operator
// must have been restarted, because open watches are not yet in the audit log.
func (c Checks) Permissions(ctx context.Context, s *framework.Scope) {
	s.NeedsAudit()
	requests, err := s.Audit.Since(audit.Mark{}, audit.ByUser(s.Operator.UserName()))
	must(s, err)
	used := map[string]bool{}
	for _, request := range requests {
		if ref := request.ObjectRef; ref != nil {
			resource := strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/")
			used[permission(ref.APIGroup, resource, request.Verb)] = true
			if audit.Code(http.StatusCreated)(&request) { // a server-side apply that creates needs the permission for both
				used[permission(ref.APIGroup, resource, "create")] = true
			}
		}
	}
	account := strings.Split(s.Operator.UserName(), ":") // system:serviceaccount:<namespace>:<name>
	for _, everybodys := range permissionsOf(ctx, s, account[2], "system:serviceaccount:"+account[2]+":nobody") {
		used[everybodys] = true
	}
	wide, unused := judge(permissionsOf(ctx, s, account[2], s.Operator.UserName()), used)
	if len(wide) > 0 {
		s.Fatalf("expected roles that name each group, resource and verb; last seen: %s", strings.Join(wide, ", "))
	}
	if len(unused) > 0 {
		s.Remark("no request used " + strings.Join(unused, ", "))
	}
}

// permissionsOf returns the permissions of a user in a namespace, as the API server knows them.
func permissionsOf(ctx context.Context, s *framework.Scope, namespace, user string) (permissions []string) {
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = user
	asUser, err := client.New(config, client.Options{})
	must(s, err)
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	must(s, asUser.Create(ctx, review))
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					permissions = append(permissions, permission(group, resource, verb))
				}
			}
		}
	}
	slices.Sort(permissions)
	return slices.Compact(permissions)
}

// judge returns the permissions with a wildcard, and those others that are not used. An informer that watches may have to list, and an
// admission plugin asks for the permission to update finalizers, which Served may have granted.
func judge(permissions []string, used map[string]bool) (wide, unused []string) {
	for _, name := range permissions {
		resource, lists := strings.CutPrefix(name, "list ")
		switch {
		case used[name], lists && used["watch "+resource], strings.HasSuffix(name, "/finalizers"):
		case strings.Contains(name, "*"):
			wide = append(wide, name)
		default:
			unused = append(unused, name)
		}
	}
	return wide, unused
}

// permission is the name of a verb of a resource, such as "create deployments.apps".
func permission(group, resource, verb string) string {
	name, subresource, _ := strings.Cut(resource, "/")
	return strings.TrimSuffix(verb+" "+strings.TrimSuffix(name+"."+group, ".")+"/"+subresource, "/")
}
