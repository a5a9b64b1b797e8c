package conformance

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Objects that are alike have the same outcome, whatever they are called and however many nodes they have; one that is not ready has another.
func TestOutcomeOf(t *testing.T) {
	g := NewWithT(t)
	outcome := func(available, reason string, nodes ...any) string {
		return outcomeOf(&unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"size": int64(1)},
			"status": map[string]any{
				"nodes":    nodes,
				"replicas": int64(len(nodes)),
				"ports":    []any{map[string]any{"port": int64(1)}, map[string]any{"port": int64(2)}},
				"unset":    nil,
				"conditions": []any{
					map[string]any{"type": "Available", "status": available, "reason": reason, "message": nodes},
					map[string]any{"type": "Degraded", "status": "False"},
				},
			},
		}})
	}
	ready := outcome("True", "Ready", "a-1", "a-2")
	g.Expect(ready).To(Equal("status.conditions Available=True/Ready, status.conditions Degraded=False, status.nodes, status.ports.port, status.replicas"))
	g.Expect(outcome("True", "Ready", "b-1")).To(Equal(ready))
	g.Expect(outcome("False", "Creating", "b-1")).NotTo(Equal(ready))
	g.Expect(outcome("True", "Other", "b-1")).NotTo(Equal(ready))
	g.Expect(outcome("True", "Ready")).NotTo(Equal(ready))
	g.Expect(outcomeOf(&unstructured.Unstructured{Object: map[string]any{}})).To(BeEmpty())
}

// Kinds are listed one after another. Pods that are created after the list of Pods, before that of Deployments, belong to an object, too.
func TestWaitForReadySeesAllAtOnce(t *testing.T) {
	g := NewWithT(t)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "1"}}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", UID: "2", OwnerReferences: []metav1.OwnerReference{{UID: "1"}}},
		Status:     appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1},
	}
	deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x-1", UID: "3", OwnerReferences: []metav1.OwnerReference{{UID: "2"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	fakeClient := fake.NewClientBuilder().WithObjects(owner).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == "DeploymentList" {
				for _, object := range []client.Object{deployment, pod} {
					if err := client.IgnoreAlreadyExists(c.Create(ctx, object.DeepCopyObject().(client.Object))); err != nil {
						return err
					}
				}
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	sample := &Sample{object: object, kinds: []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod"), appsv1.SchemeGroupVersion.WithKind("Deployment")}}
	belongings := sample.waitForReady(t.Context(), &framework.Scope{T: t, Client: fakeClient, Operator: &runner.Operator{}}, owner)
	g.Expect(kindsOf(belongings)).To(ConsistOf(corev1.SchemeGroupVersion.WithKind("Pod"), appsv1.SchemeGroupVersion.WithKind("Deployment")))
}

// On a busy machine, others write several times between a read and a write.
func TestEditWhileOthersWrite(t *testing.T) {
	g := NewWithT(t)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}}
	conflicts := 6
	fakeClient := fake.NewClientBuilder().WithObjects(deployment).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if conflicts--; conflicts >= 0 {
				return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "x", nil)
			}
			return c.Patch(ctx, object, patch, options...)
		},
	}).Build()
	g.Expect(addForeign(t.Context(), &framework.Scope{T: t, Client: fakeClient}, deployment)).To(Succeed())
	verifyForeign(t.Context(), &framework.Scope{T: t, Client: fakeClient}, deployment)
}
