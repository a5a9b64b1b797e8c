package memcached

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestEditedStatus edits the status of a Memcached as somebody with permission for it can.
func TestEditedStatus(t *testing.T) {
	feature := memcached.Feature("a status that others edit").
		WithLabel("contract", "1").
		WithLabel("contract", "2")
	framework.Given(feature, created(2, 3)).
		Assess("is put back", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			settled(ctx, s, mc)
			framework.WaitForObject(ctx, s, mc, HaveField("Status.ReadyReplicas", Equal(*mc.Spec.Size)))
			// With more edits, the operator would wait longer and longer before it puts the next one back.
			backdated := slices.Clone(mc.Status.Conditions)
			for i := range backdated {
				backdated[i].LastTransitionTime = metav1.NewTime(backdated[i].LastTransitionTime.Add(-time.Hour))
			}
			times, err := json.Marshal(backdated)
			if err != nil {
				s.Fatal(err)
			}
			for _, edit := range []string{`{"readyReplicas":99,"replicas":0,"nodes":["ghost"],"selector":"a=b","conditions":[]}`, `{"conditions":` + string(times) + `}`} {
				editStatus(ctx, s, mc, `{"status":`+edit+`}`)
				framework.WaitFor(ctx, s, "the Memcached "+mc.Name, func(ctx context.Context) error {
					found := named(s, mc.Name)
					if err := s.Client.Get(ctx, client.ObjectKeyFromObject(found), found); err != nil {
						return err
					}
					if !equality.Semantic.DeepEqual(found.Status, mc.Status) {
						return fmt.Errorf("expected its status after the edit %s to be put back; last seen: %+v", edit, found.Status)
					}
					return nil
				})
			}
		}).
		Assess("keeps the conditions of others, through every write of the operator", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			before := mc.DeepCopy()
			meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{
				Type: "Audited", Status: metav1.ConditionTrue, Reason: "Weekly", Message: "Somebody else has written this.",
			})
			if err := s.Client.Status().Patch(ctx, mc, client.MergeFrom(before), vandal); err != nil {
				s.Fatal(err)
			}
			resize(ctx, s, mc, *mc.Spec.Size+1)
			settled(ctx, s, mc)
			kept(ctx, s, mc)
			old := deploymentOf(mc)
			framework.WaitForObject(ctx, s, old, Not(BeNil()))
			remove(ctx, s, old)
			framework.WaitForObject(ctx, s, deploymentOf(mc), HaveField("UID", Not(Equal(old.UID))))
			settled(ctx, s, mc)
			barrier(ctx, s) // by now, the operator has seen the new pods and written what it had to
			kept(ctx, s, mc)
		}).
		Assess("and is not written while nothing changes but a condition of others", func(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
			barrier(ctx, s)
			mark := s.Mark()
			framework.WaitForObject(ctx, s, mc, Not(BeNil()))
			before := mc.DeepCopy()
			meta.FindStatusCondition(mc.Status.Conditions, "Audited").Message = "And this."
			if err := s.Client.Status().Patch(ctx, mc, client.MergeFrom(before), vandal); err != nil {
				s.Fatal(err)
			}
			barrier(ctx, s)
			framework.VerifyWrites(ctx, s, 0, s.Writes(mark, the(mc.Name)))
		}).
		Test(t)
}

// editStatus patches the status of a Memcached.
func editStatus(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, patch string) {
	s.Helper()
	if err := s.Client.Status().Patch(ctx, named(s, mc.Name), rawMergePatch(patch), vandal); err != nil {
		s.Fatalf("editing the status of the Memcached %s: %v", mc.Name, err)
	}
}

// kept fails the test unless the Memcached still has the condition that the operator does not own.
func kept(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached) {
	s.Helper()
	found := named(s, mc.Name)
	err := s.Client.Get(ctx, client.ObjectKeyFromObject(found), found)
	if err == nil && !meta.IsStatusConditionTrue(found.Status.Conditions, "Audited") {
		err = errors.New("it is gone")
	}
	if err != nil {
		s.Errorf("Memcached %s: expected the condition of others to survive; last seen: %v", mc.Name, err)
	}
	found.DeepCopyInto(mc)
}
