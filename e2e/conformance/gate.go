package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/audit"
)

// Gate must hold before the first point is checked: if an operator serves no object at all, all points would fail, one after another.
const Gate = "one object is served"

// Served checks that the operator serves an object: it creates the Deployment or, for a sample, it writes something and none of its
// requests is refused. A failure's message contains the object's status, and the last errors that the operator has logged. No other feature
// may use the operator at the same time.
//
// If the operator lacks only the permission that OwnerReferencesPermissionEnforcement requires, Served grants it, because most clusters run
// without this admission plugin, and [Checks.OwnerPermission] is a separate point.
func (c Checks) Served(ctx context.Context, s *framework.Scope) {
	sample := c.sample()
	if sample != nil {
		s = sample.open(s)
	}
	since := s.Mark()
	object := c.create(ctx, s, "first", smallest)
	granted := false
	framework.WaitFor(ctx, s, object.GetName(), func(ctx context.Context) error {
		asked := s.Mark()
		served, refused, err := c.isServed(ctx, s, object, since)
		if served || err != nil {
			return err
		}
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		conditions, err := framework.ConditionsOf(object)
		if err != nil {
			return err
		}
		reported := append(s.Errors(0), refused...)
		i := slices.IndexFunc(reported, isAboutOwnerPermission)
		switch {
		case i >= 0 && !granted:
			granted, since = true, s.Mark()
			must(s, errors.Join(grantOwnerPermission(ctx, s, reported[i]), s.Operator.Restart(ctx)))
			object = c.create(ctx, s, "first", smallest)
		case slices.ContainsFunc(refused, isAboutOwnerPermission):
			since = s.Mark() // the API server had not yet seen the grant
			object = c.create(ctx, s, "first", smallest)
		case slices.ContainsFunc(refused, isAboutUnknownOwner):
			since = asked // the operator tries again
		}
		return fmt.Errorf("expected it to be served; last seen: it is not. The last errors of the operator, and the object's status:\n%s",
			strings.Join(append(counted(reported), framework.DescribeConditions(conditions)), "\n"))
	})
	if sample != nil {
		sample.narrow(ctx, s, object)
	}
}

// isServed reports whether the operator has made the Deployment of an object or, for a sample, has written anything since the mark. It returns
// what it was refused, with which a sample is not served.
func (c Checks) isServed(ctx context.Context, s *framework.Scope, object client.Object, since audit.Mark) (served bool, refused []string, err error) {
	if c.sample() == nil {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), c.deployment(object))
		return err == nil, nil, client.IgnoreNotFound(err)
	}
	for _, request := range framework.VerifyWrites(ctx, s, math.MaxInt, writes(s, since)) {
		served = served || audit.Code(http.StatusOK)(&request) || audit.Code(http.StatusCreated)(&request)
		if audit.Forbidden(&request) {
			refused = append(refused, request.ResponseStatus.Message)
		}
	}
	return served && len(refused) == 0, refused, nil
}

// counted returns each of the texts once, in the order in which they first appear, with how often it was there: an operator tries again
// and again what it was refused.
func counted(texts []string) []string {
	times := map[string]int{}
	var once []string
	for _, text := range texts {
		if times[text]++; times[text] == 1 {
			once = append(once, text)
		}
	}
	for i, text := range once {
		if n := times[text]; n > 1 {
			once[i] = fmt.Sprintf("%s (%d times)", text, n)
		}
	}
	return once
}

// isAboutOwnerPermission reports whether the API server refused an owner reference for want of a permission.
func isAboutOwnerPermission(line string) bool {
	return strings.Contains(line, "cannot set blockOwnerDeletion") && !isAboutUnknownOwner(line)
}

// isAboutUnknownOwner reports whether the API server refused an owner reference because OwnerReferencesPermissionEnforcement does not know
// the owner's kind yet: it looks for new kinds every 30 seconds (k8s.io/apiserver/pkg/server/options/admission.go).
func isAboutUnknownOwner(line string) bool { return strings.Contains(line, "cannot find RESTMapping") }

// ownerPermission names what gives the operator the permission, and the annotation with the error message that called for it.
const ownerPermission = "testbed.example.com:owner-references"

// grantOwnerPermission lets the operator make any object the owner of another one that blocks the owner's deletion.
func grantOwnerPermission(ctx context.Context, s *framework.Scope, why string) error {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: ownerPermission, Annotations: map[string]string{"testbed.example.com/why": why}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*/finalizers"}, Verbs: []string{"update"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ownerPermission},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ownerPermission},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: s.Operator.UserName()}},
	}
	return errors.Join(
		client.IgnoreAlreadyExists(s.Client.Create(ctx, role)),
		client.IgnoreAlreadyExists(s.Client.Create(ctx, binding)))
}

// OwnerPermission checks that the operator has the permission that OwnerReferencesPermissionEnforcement requires. If it lacks the
// permission, [Checks.Served] grants it.
func (c Checks) OwnerPermission(ctx context.Context, s *framework.Scope) {
	role := &rbacv1.ClusterRole{}
	err := s.Client.Get(ctx, client.ObjectKey{Name: ownerPermission}, role)
	if apierrors.IsNotFound(err) {
		return
	}
	must(s, err)
	s.Fatalf("expected the permission to update the finalizers of what the operator makes an owner; last seen: %s", role.Annotations["testbed.example.com/why"])
}
