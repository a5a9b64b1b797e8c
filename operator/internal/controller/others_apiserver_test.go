package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// A restored Deployment is adopted as it is, whether the operator has only created it before the backup, or has changed it, too.
func TestRestoredDeploymentOnAPIServer(t *testing.T) {
	for name, size := range map[string]int32{"created before": 1, "created and changed before": 3} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			mc := s.newMemcached("a")
			if size != *mc.Spec.Size {
				s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = &size })
				s.reconcile(mc)
			}
			saved := s.deployment(mc)
			s.do(s.user.Delete(t.Context(), mc))
			s.do(s.user.Delete(t.Context(), saved))
			s.reconcile(mc)

			restored := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a", Labels: saved.Labels, Annotations: saved.Annotations},
				Spec:       saved.Spec,
			}
			s.do(s.user.Create(t.Context(), restored))
			again := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}, Spec: mc.Spec}
			s.do(s.user.Create(t.Context(), again))
			s.reconcile(again)
			s.expectDegraded(again, cachev1alpha1.ReasonNameTaken, "")

			managedFields, err := json.Marshal(saved.ManagedFields)
			s.do(err)
			s.do(s.user.Patch(t.Context(), restored, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"managedFields":%s}}`, managedFields))))
			if writes := s.reconcile(again); !slices.Contains(writes, applyByPatch) || slices.Contains(writes, createByPost) {
				t.Errorf("writes = %q, want the Deployment applied", writes)
			}
			adopted := s.deployment(again)
			if adopted.UID != restored.UID || !isControlledBy(adopted, again.UID) {
				t.Errorf("UID %s, owners %v, want UID %s, controlled by the restored Memcached", adopted.UID, adopted.OwnerReferences, restored.UID)
			}
			if diff := cmp.Diff(saved.Spec, adopted.Spec); diff != "" {
				t.Errorf("spec (-saved +adopted):\n%s", diff)
			}
			s.expectDegraded(again, cachev1alpha1.ReasonAsExpected, "")
			expectWrites(t, withoutEvents(s.reconcile(again)))
		})
	}
}

// The patch of the status puts back what others have edited, and leaves their conditions alone, wherever they are in the list.
func TestEditedStatusOnAPIServer(t *testing.T) {
	s := newSite(t)
	mc := s.newMemcached("a")
	for name, edit := range map[string]func(*cachev1alpha1.MemcachedStatus){
		"a condition in front": audited,
		"fields": func(s *cachev1alpha1.MemcachedStatus) {
			s.ReadyReplicas, s.Nodes, s.Selector = 99, []string{"ghost"}, "a=b"
		},
		"no conditions":              func(s *cachev1alpha1.MemcachedStatus) { s.Conditions = nil },
		"one condition of ours less": func(s *cachev1alpha1.MemcachedStatus) { s.Conditions = s.Conditions[1:] },
		"no status":                  func(s *cachev1alpha1.MemcachedStatus) { *s = cachev1alpha1.MemcachedStatus{} },
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.reconciler.lastWrites = lastWrites{}
			s.reconcile(mc)
			s.do(s.user.Get(t.Context(), nameOf(mc), mc))
			want := mc.DeepCopy().Status
			edit(&mc.Status)
			s.do(s.user.Status().Update(t.Context(), mc))
			foreign := meta.FindStatusCondition(mc.Status.Conditions, "Audited")
			s.reconcile(mc)
			s.do(s.user.Get(t.Context(), nameOf(mc), mc))
			if !sameStatus(want, mc.Status) {
				t.Errorf("status (-want +got):\n%s", cmp.Diff(withoutTimes(want), withoutTimes(mc.Status)))
			}
			if after := meta.FindStatusCondition(mc.Status.Conditions, "Audited"); foreign != nil && (after == nil || after.Reason != foreign.Reason) {
				t.Errorf("the condition of others is %+v, want %+v", after, foreign)
			}
			expectWrites(t, s.reconcile(mc))
		})
	}
}
