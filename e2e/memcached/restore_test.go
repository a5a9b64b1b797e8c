package memcached

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// backupTool is the field manager of what restores a backup.
const backupTool = client.FieldOwner("backup-tool")

// TestRestore restores a Memcached and its Deployment as backup tools do: without owner references, with other UIDs, and in either
// order.
func TestRestore(t *testing.T) {
	memcached.Feature("restore from a backup").
		WithLabel("contract", "4").
		WithLabel("contract", "5").
		Assess("of the Deployment first keeps its selector and its pods", func(ctx context.Context, s *framework.Scope) {
			mc, saved := backup(ctx, s)
			restored := restoredDeployment(ctx, s, saved)
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(restored), *saved.Spec.Replicas)
			pods := podUIDs(ctx, s, restored)

			again := create(ctx, s, mc.Name, *mc.Spec.Size)
			adopted(ctx, s, again, restored)
			settled(ctx, s, again)
			framework.WaitForObjects(ctx, s, podsOfDeployment(restored, ConsistOf(pods)))
			framework.WaitForObject(ctx, s, again, And(
				HaveField("Status.Selector", Equal(metav1.FormatLabelSelector(saved.Spec.Selector))),
				HaveField("Status.ReadyReplicas", Equal(*saved.Spec.Replicas)),
			))

			resize(ctx, s, again, *mc.Spec.Size+1)
			settled(ctx, s, again)
			framework.WaitForObjects(ctx, s, podsOfDeployment(restored, And(ContainElements(pods), HaveLen(len(pods)+1))))
		}).
		Assess("of the Memcached first leaves no Deployment to restore", func(ctx context.Context, s *framework.Scope) {
			mc, saved := backup(ctx, s)
			again := create(ctx, s, mc.Name, *mc.Spec.Size)
			framework.WaitForObject(ctx, s, deploymentOf(again), HaveField("OwnerReferences", ConsistOf(HaveField("UID", again.UID))))
			if err := s.Client.Create(ctx, withoutServerFields(saved), backupTool); !apierrors.IsAlreadyExists(err) {
				s.Errorf("restoring the Deployment after its Memcached: expected that it exists; last seen: %v", err)
			}
			settled(ctx, s, again)
		}).
		Test(t)
}

// backup returns a Memcached and its Deployment as they were before they were deleted.
func backup(ctx context.Context, s *framework.Scope) (*cachev1alpha1.Memcached, *appsv1.Deployment) {
	s.Helper()
	mc := create(ctx, s, s.NewName("cache"), s.Size(2, 3))
	settled(ctx, s, mc)
	saved := deploymentOf(mc)
	framework.WaitForObject(ctx, s, saved, Not(BeNil()))
	remove(ctx, s, mc)
	framework.WaitForDeletion(ctx, s, mc, deploymentOf(mc))
	return mc, saved
}

// restoredDeployment creates a saved Deployment again. The tool that does so puts the managed fields back afterwards, because the
// API server sets its own on creation.
func restoredDeployment(ctx context.Context, s *framework.Scope, saved *appsv1.Deployment) *appsv1.Deployment {
	s.Helper()
	restored := withoutServerFields(saved)
	if err := s.Client.Create(ctx, restored, backupTool); err != nil {
		s.Fatalf("restoring the Deployment %s: %v", saved.Name, err)
	}
	text, err := json.Marshal(saved.ManagedFields)
	if err != nil {
		s.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"managedFields":%s}}`, text))
	if err := s.Client.Patch(ctx, restored, patch, backupTool); err != nil {
		s.Fatalf("restoring the managed fields of the Deployment %s: %v", saved.Name, err)
	}
	return restored
}

// withoutServerFields returns the part of a saved Deployment that a backup tool creates again.
func withoutServerFields(saved *appsv1.Deployment) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: saved.Namespace, Name: saved.Name, Labels: saved.Labels, Annotations: saved.Annotations},
		Spec:       saved.Spec,
	}
}

// podUIDs returns the UIDs of a Deployment's pods when there are as many as it asks for, besides those that are being deleted. The status of
// the Deployment does not count these, which may be from before a rollout, or of a Deployment that had the same selector and is gone.
func podUIDs(ctx context.Context, s *framework.Scope, deployment *appsv1.Deployment) (uids []types.UID) {
	s.Helper()
	staying := func(objects []client.Object) []types.UID {
		uids = nil
		for _, pod := range objects {
			if pod.GetDeletionTimestamp() == nil {
				uids = append(uids, pod.GetUID())
			}
		}
		return uids
	}
	framework.WaitForObjects(ctx, s, framework.ObjectsInput{
		List:    &corev1.PodList{},
		Options: []client.ListOption{client.InNamespace(deployment.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)},
		Matcher: WithTransform(staying, HaveLen(int(*deployment.Spec.Replicas))),
	})
	return uids
}

// podsOfDeployment is what to wait for: the UIDs of a Deployment's pods, none of which has been restarted, match.
func podsOfDeployment(deployment *appsv1.Deployment, uids gomegatypes.GomegaMatcher) framework.ObjectsInput {
	return framework.ObjectsInput{
		List:    &corev1.PodList{},
		Options: []client.ListOption{client.InNamespace(deployment.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)},
		Matcher: WithTransform(neverRestarted, uids),
	}
}

// adopted waits until the Memcached controls a Deployment, which is still the same one, with the same selector.
func adopted(ctx context.Context, s *framework.Scope, mc *cachev1alpha1.Memcached, deployment *appsv1.Deployment) {
	s.Helper()
	framework.WaitForObject(ctx, s, deploymentOf(mc), And(
		HaveField("UID", deployment.UID),
		HaveField("Spec.Selector", Equal(deployment.Spec.Selector)),
		HaveField("OwnerReferences", ConsistOf(HaveField("UID", mc.UID))),
	))
}
