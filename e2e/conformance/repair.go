package conformance

import (
	"context"
	"fmt"

	"github.com/onsi/gomega/gcustom"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drift checks that what spoil does to the Deployment is undone. It returns what to look at: equal before and after.
func drift(spoil func(*appsv1.Deployment) (look func(*appsv1.Deployment) any)) func(context.Context, *scope) {
	return func(ctx context.Context, s *scope) {
		s.available(ctx, s.create(ctx, "cache", 2), 2)
		deployment := s.deployment("cache")
		s.must(s.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment))
		before := deployment.DeepCopy()
		look := spoil(deployment)
		s.must(s.client.Patch(ctx, deployment, client.MergeFrom(before)))
		s.expect().Object(ctx, deployment, gcustom.MakeMatcher(func(seen *appsv1.Deployment) (bool, error) {
			if look(seen) != look(before) {
				return false, fmt.Errorf("expected %v to be put back; last seen: %v", look(before), look(seen))
			}
			return true, nil
		}))
	}
}

func driftReplicas(d *appsv1.Deployment) func(*appsv1.Deployment) any {
	d.Spec.Replicas = new(int32(4))
	return func(d *appsv1.Deployment) any { return *d.Spec.Replicas }
}

func driftImage(d *appsv1.Deployment) func(*appsv1.Deployment) any {
	d.Spec.Template.Spec.Containers[0].Image = "example.com/not-memcached:1"
	return func(d *appsv1.Deployment) any { return d.Spec.Template.Spec.Containers[0].Image }
}

func driftSecurityContext(d *appsv1.Deployment) func(*appsv1.Deployment) any {
	escalation := func(d *appsv1.Deployment) any {
		context := d.Spec.Template.Spec.Containers[0].SecurityContext
		if context == nil || context.AllowPrivilegeEscalation == nil {
			return "no allowPrivilegeEscalation"
		}
		return fmt.Sprintf("allowPrivilegeEscalation %v", *context.AllowPrivilegeEscalation)
	}
	container := &d.Spec.Template.Spec.Containers[0]
	if container.SecurityContext == nil {
		container.SecurityContext = &corev1.SecurityContext{}
	}
	container.SecurityContext.AllowPrivilegeEscalation = new(true)
	return escalation
}

func driftOwner(d *appsv1.Deployment) func(*appsv1.Deployment) any {
	d.OwnerReferences = nil
	return func(d *appsv1.Deployment) any {
		if owner := metav1.GetControllerOf(d); owner != nil {
			return "the owner " + owner.Name
		}
		return "no owner"
	}
}

func checkDeploymentComesBack(ctx context.Context, s *scope) {
	s.available(ctx, s.create(ctx, "cache", 1), 1)
	deployment := s.deployment("cache")
	s.must(s.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment))
	gone := deployment.UID
	s.must(s.client.Delete(ctx, deployment))
	s.expect().Object(ctx, deployment, gcustom.MakeMatcher(func(seen *appsv1.Deployment) (bool, error) {
		if seen.UID == gone {
			return false, fmt.Errorf("expected another Deployment; last seen: the deleted one")
		}
		return true, nil
	}))
	s.sized(ctx, "cache", 1)
}

func checkForeignField(ctx context.Context, s *scope) {
	object := s.create(ctx, "cache", 1)
	s.available(ctx, object, 1)
	deployment := s.deployment("cache")
	const mine = "example.com/mine"
	theirs := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+mine+`":"yes"},"labels":{"`+mine+`":"yes"}}}`))
	s.must(s.client.Patch(ctx, deployment, theirs))
	s.change(ctx, object, func() { s.mapping.setSize(object, 2) })
	s.sized(ctx, "cache", 2)
	s.must(s.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment))
	if deployment.Annotations[mine] != "yes" || deployment.Labels[mine] != "yes" {
		s.Fatalf("expected somebody's annotation and label %s to survive; last seen: annotations %v, labels %v", mine, deployment.Annotations, deployment.Labels)
	}
}
