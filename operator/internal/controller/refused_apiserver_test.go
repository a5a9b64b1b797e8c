package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// newForeignDeployment creates a Deployment with the Memcached's name that the operator does not own.
func (s *site) newForeignDeployment(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	s.t.Helper()
	labels := map[string]string{"app": "web"}
	foreign := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: mc.Name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}
	s.do(s.user.Create(s.t.Context(), foreign))
	return foreign
}

// eventCount returns how many times the operator has reported a reason, including the repetitions that an event counts.
func (s *site) eventCount(mc *cachev1alpha1.Memcached, reason string) int {
	s.t.Helper()
	list := &eventsv1.EventList{}
	s.do(s.user.List(s.t.Context(), list, client.InNamespace(mc.Namespace)))
	times := 0
	for _, event := range list.Items {
		if event.Regarding.UID != mc.UID || event.Reason != reason {
			continue
		}
		if event.Series != nil {
			times += int(event.Series.Count)
		} else {
			times++
		}
	}
	return times
}

// expectDegraded fails the test if the Memcached's Degraded condition has another reason, or no message with text.
func (s *site) expectDegraded(mc *cachev1alpha1.Memcached, reason, text string) {
	s.t.Helper()
	s.do(s.user.Get(s.t.Context(), nameOf(mc), mc))
	degraded := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded)
	if degraded == nil || degraded.Reason != reason || !strings.Contains(degraded.Message, text) {
		s.t.Errorf("Degraded is %+v, want the reason %s and %q in the message", degraded, reason, text)
	}
	if reason == cachev1alpha1.ReasonAsExpected {
		return
	}
	if err := poll(s.t.Context(), func(context.Context) (bool, error) { return s.eventCount(mc, reason) > 0, nil }); err != nil {
		s.t.Errorf("no event has the reason %s", reason)
	}
}

func (s *site) create(name string) *cachev1alpha1.Memcached {
	s.t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	s.do(s.user.Create(s.t.Context(), mc))
	return mc
}

// tryToReconcile is for reconciles that fail.
func (s *site) tryToReconcile(mc *cachev1alpha1.Memcached) error {
	s.t.Helper()
	s.sync(mc)
	_, err := s.reconciler.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: nameOf(mc)})
	return err
}

func TestForeignDeploymentOnAPIServer(t *testing.T) {
	s := newSite(t)
	mc := s.create("a")
	foreign := s.newForeignDeployment(mc)
	expectWrites(t, withoutEvents(s.reconcile(mc)), createByPost, statusByPatch)
	s.expectDegraded(mc, cachev1alpha1.ReasonNameTaken, s.namespace+"/a")
	expectWrites(t, withoutEvents(s.reconcile(mc)))
	if diff := cmp.Diff(foreign.ObjectMeta, s.deployment(mc).ObjectMeta); diff != "" {
		t.Errorf("the foreign Deployment was changed (-before +after):\n%s", diff)
	}
	s.do(s.user.Delete(t.Context(), foreign))
	expectWrites(t, withoutEvents(s.reconcile(mc)), createByPost, statusByPatch)
	s.expectDegraded(mc, cachev1alpha1.ReasonAsExpected, "")
}

func withoutEvents(writes []string) []string {
	return slices.DeleteFunc(writes, func(write string) bool { return strings.HasSuffix(write, " events") })
}

func TestQuotaOnAPIServer(t *testing.T) {
	s := newSite(t)
	none := corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "small"},
		Spec:       corev1.ResourceQuotaSpec{Hard: none},
	}
	s.do(s.user.Create(t.Context(), quota))
	// No controller computes the use of the quota here.
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	s.do(s.user.Status().Update(t.Context(), quota))

	mc := s.create("a")
	// The API server sees the quota through its own watch.
	s.do(poll(t.Context(), func(ctx context.Context) (bool, error) {
		probe := desiredDeployment(mc, testImage)
		deployment, err := ssa.Deployment(probe)
		s.do(err)
		err = s.user.Create(ctx, deployment, client.DryRunAll)
		return apierrors.IsForbidden(err), nil
	}))
	for range 2 {
		if err := s.tryToReconcile(mc); !apierrors.IsForbidden(err) || errors.Is(err, reconcile.TerminalError(nil)) {
			t.Errorf("error = %v, want one that is retried", err)
		}
	}
	s.expectDegraded(mc, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota: small, requested: count/deployments.apps=1, limited: count/deployments.apps=0.")

	s.do(s.user.Delete(t.Context(), quota))
	s.do(poll(t.Context(), func(context.Context) (bool, error) { return s.tryToReconcile(mc) == nil, nil }))
	s.expectDegraded(mc, cachev1alpha1.ReasonAsExpected, "")
}

func TestMissingPermissionOnAPIServer(t *testing.T) {
	config := rest.CopyConfig(needAPIServer(t))
	config.Impersonate.UserName = "operator-without-create"
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch", "update"}}
	grant(t, config.Impersonate.UserName, []rbacv1.PolicyRule{
		everything,
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	})
	s := newSiteAs(t, config)
	if !s.cache.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not fill")
	}
	mc := s.create("a")
	if err := s.tryToReconcile(mc); !apierrors.IsForbidden(err) {
		t.Errorf("error = %v, want Forbidden", err)
	}
	s.expectDegraded(mc, cachev1alpha1.ReasonForbidden, `User "operator-without-create" cannot create resource "deployments"`)

	role := &rbacv1.ClusterRole{}
	s.do(s.user.Get(t.Context(), client.ObjectKey{Name: config.Impersonate.UserName}, role))
	role.Rules[0].Verbs = append(role.Rules[0].Verbs, "create", "delete")
	s.do(s.user.Update(t.Context(), role))
	s.do(poll(t.Context(), func(context.Context) (bool, error) { return s.tryToReconcile(mc) == nil, nil }))
	s.expectDegraded(mc, cachev1alpha1.ReasonAsExpected, "")
}

// The reconciler does not check for an empty image, but the API server does.
func TestInvalidDeploymentOnAPIServer(t *testing.T) {
	s := newSite(t)
	s.reconciler.Image = ""
	mc := s.create("a")
	if err := s.tryToReconcile(mc); !apierrors.IsInvalid(err) || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error = %v, want Invalid, and to be retried", err)
	}
	s.expectDegraded(mc, cachev1alpha1.ReasonInvalid, "spec.template.spec.containers[0].image")
}

func TestTerminatingNamespaceOnAPIServer(t *testing.T) {
	s := newSite(t)
	mc := s.newMemcached("a")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	s.do(s.user.Delete(t.Context(), namespace))
	s.do(s.user.Delete(t.Context(), s.deployment(mc)))
	// The API server's admission sees the deletion through its own watch. Until then, it allows a Deployment to be created.
	s.do(poll(t.Context(), func(ctx context.Context) (bool, error) {
		deployment, err := ssa.Deployment(desiredDeployment(mc, testImage))
		s.do(err)
		return apierrors.HasStatusCause(s.user.Create(ctx, deployment, client.DryRunAll), corev1.NamespaceTerminatingCause), nil
	}))
	expectWrites(t, s.reconcile(mc), createByPost)
	s.do(s.user.Get(t.Context(), nameOf(mc), mc))
	if degraded := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionDegraded); degraded.Status != metav1.ConditionFalse {
		t.Errorf("Degraded is %+v, want it to be false", degraded)
	}
}
