package framework

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WaitForDeployment waits until the Deployment of that namespace and name requests size replicas and has exactly that many pods, all of its
// current template, ready and available. A status that its controller computed for an earlier spec does not count. A pod that can't start
// does not end the wait, because the operator may be about to change the template.
func WaitForDeployment(ctx context.Context, s *Scope, key client.ObjectKey, size int32) {
	s.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	waitForObject(ctx, s, deployment, func(found client.Object) error {
		want := deploymentSize{spec: size, updated: size, ready: size, available: size, total: size, observed: true}
		if got := sizeOf(found.(*appsv1.Deployment)); got != want {
			return fmt.Errorf("expected %s; last seen: %s", want, got)
		}
		return nil
	})
}

// deploymentSize is what counts of a Deployment when its size is asked for.
type deploymentSize struct {
	spec, updated, ready, available, total int32
	observed                               bool
}

func sizeOf(d *appsv1.Deployment) deploymentSize {
	return deploymentSize{
		spec:      ptr.Deref(d.Spec.Replicas, 1), // what the API defaults an absent field to
		updated:   d.Status.UpdatedReplicas,
		ready:     d.Status.ReadyReplicas,
		available: d.Status.AvailableReplicas,
		total:     d.Status.Replicas,
		observed:  d.Status.ObservedGeneration >= d.Generation,
	}
}

func (s deploymentSize) String() string {
	noun := "pods"
	if s.total == 1 {
		noun = "pod"
	}
	text := fmt.Sprintf("spec.replicas %d, %d %s (%d updated, %d ready, %d available)",
		s.spec, s.total, noun, s.updated, s.ready, s.available)
	if !s.observed {
		text += ", a status of an earlier generation"
	}
	return text
}
