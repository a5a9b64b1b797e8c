package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/operator-testbed/e2e/framework"
)

// drift checks that what spoil does to the Deployment is undone. It returns what to look at: equal before and after.
func (c Checks) drift(ctx context.Context, s *framework.Scope, name string, spoil func(*appsv1.Deployment) (look func(*appsv1.Deployment) string)) {
	deployment := c.deployment(c.created(ctx, s, name, c.Describe().within(2)))
	get(ctx, s, deployment)
	before := deployment.DeepCopy()
	var look func(*appsv1.Deployment) string
	change(ctx, s, deployment, func() { look = spoil(deployment) })
	framework.WaitForObject(ctx, s, deployment, gcustom.MakeMatcher(func(seen *appsv1.Deployment) (bool, error) {
		if look(seen) != look(before) {
			return false, fmt.Errorf("expected %s to be put back; last seen: %s", look(before), look(seen))
		}
		return true, nil
	}))
}

// Replicas checks that a changed number of replicas is put back.
func (c Checks) Replicas(ctx context.Context, s *framework.Scope) {
	c.drift(ctx, s, "replicas", func(d *appsv1.Deployment) func(*appsv1.Deployment) string {
		d.Spec.Replicas = new(int32(4))
		return func(d *appsv1.Deployment) string { return fmt.Sprintf("%d replicas", *d.Spec.Replicas) }
	})
}

// Image checks that a changed image is put back.
func (c Checks) Image(ctx context.Context, s *framework.Scope) {
	c.drift(ctx, s, "image", func(d *appsv1.Deployment) func(*appsv1.Deployment) string {
		d.Spec.Template.Spec.Containers[0].Image = "example.com/not-memcached:1"
		return func(d *appsv1.Deployment) string { return "the image " + d.Spec.Template.Spec.Containers[0].Image }
	})
}

// SecurityContext checks that a changed security context is put back.
func (c Checks) SecurityContext(ctx context.Context, s *framework.Scope) {
	c.drift(ctx, s, "security", func(d *appsv1.Deployment) func(*appsv1.Deployment) string {
		container := &d.Spec.Template.Spec.Containers[0]
		if container.SecurityContext == nil {
			container.SecurityContext = &corev1.SecurityContext{}
		}
		container.SecurityContext.AllowPrivilegeEscalation = new(true)
		return func(d *appsv1.Deployment) string {
			context := d.Spec.Template.Spec.Containers[0].SecurityContext
			if context == nil || context.AllowPrivilegeEscalation == nil {
				return "no allowPrivilegeEscalation"
			}
			return fmt.Sprintf("allowPrivilegeEscalation %v", *context.AllowPrivilegeEscalation)
		}
	})
}

// Owner checks that a removed owner reference is put back.
func (c Checks) Owner(ctx context.Context, s *framework.Scope) {
	c.drift(ctx, s, "owned", func(d *appsv1.Deployment) func(*appsv1.Deployment) string {
		d.OwnerReferences = nil
		return func(d *appsv1.Deployment) string {
			if owner := metav1.GetControllerOf(d); owner != nil {
				return "the owner " + owner.Name
			}
			return "no owner"
		}
	})
}

// DeletedDeployment checks that a Deployment that is deleted comes back.
func (c Checks) DeletedDeployment(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "deleted", 1)
	deployment := c.deployment(object)
	get(ctx, s, deployment)
	gone := deployment.UID
	must(s, s.Client.Delete(ctx, deployment))
	framework.WaitForObject(ctx, s, deployment, gcustom.MakeMatcher(func(seen *appsv1.Deployment) (bool, error) {
		if seen.UID == gone {
			return false, errors.New("expected another Deployment; last seen: the deleted one")
		}
		return true, nil
	}))
	c.waitForSize(ctx, s, object, 1)
}

// ForeignFields checks that the operator leaves fields alone that somebody else has set.
func (c Checks) ForeignFields(ctx context.Context, s *framework.Scope) {
	object := c.created(ctx, s, "shared", 1)
	deployment := c.deployment(object)
	const mine = "example.com/mine"
	patch(ctx, s, deployment, `{"metadata":{"annotations":{"`+mine+`":"yes"},"labels":{"`+mine+`":"yes"}},
		"spec":{"template":{"metadata":{"annotations":{"`+mine+`":"yes"}}}}}`)
	size := c.Describe().within(2)
	c.resize(ctx, s, object, size)
	c.waitForSize(ctx, s, object, size)
	c.Barrier(ctx, s)
	get(ctx, s, deployment)
	for place, values := range map[string]map[string]string{
		"the annotations": deployment.Annotations, "the labels": deployment.Labels, "the annotations of the pods": deployment.Spec.Template.Annotations,
	} {
		if values[mine] != "yes" {
			s.Errorf("expected somebody's %s to survive in %s; last seen: %v", mine, place, values)
		}
	}
}
