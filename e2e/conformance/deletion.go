package conformance

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
)

// NoFinalizer checks that an object has no finalizer, because garbage collection does the work.
func (c Checks) NoFinalizer(ctx context.Context, s *framework.Scope) {
	s.NeedsAudit() // for the barrier: a step that is skipped later would leave the object
	object := c.created(ctx, s, "plain", smallest)
	c.Barrier(ctx, s)
	get(ctx, s, object)
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		s.Fatalf("expected no finalizer; last seen: %v", finalizers)
	}
	c.removeAll(ctx, s, object)
}

// BackgroundDeletion checks that a deletion in the background leaves nothing. The namespace must be empty otherwise.
func (c Checks) BackgroundDeletion(ctx context.Context, s *framework.Scope) {
	c.removeAll(ctx, s, c.created(ctx, s, "background", c.several(s)), client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// ForegroundDeletion checks that a deletion in the foreground leaves nothing. The namespace must be empty otherwise.
func (c Checks) ForegroundDeletion(ctx context.Context, s *framework.Scope) {
	c.removeAll(ctx, s, c.created(ctx, s, "foreground", c.several(s)), client.PropagationPolicy(metav1.DeletePropagationForeground))
}

// DeletionWhileDown checks that a deletion leaves nothing while the operator is stopped. It stops the operator, and the namespace must be
// empty otherwise.
func (c Checks) DeletionWhileDown(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "unattended", c.several(s))
	s.RestartAfterwards(ctx)
	must(s, s.Operator.Stop(ctx))
	c.removeAll(ctx, s, object)
}

// removeAll deletes the only custom resource of the namespace, and waits until nothing is left.
func (c Checks) removeAll(ctx context.Context, s *framework.Scope, object client.Object, options ...client.DeleteOption) {
	c.remove(ctx, s, object, options...)
	if c.sample() != nil {
		waitForNothing(ctx, s, object)
		return
	}
	framework.WaitForNone(ctx, s, &appsv1.ReplicaSetList{}, client.InNamespace(s.Namespace))
	framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace))
}
