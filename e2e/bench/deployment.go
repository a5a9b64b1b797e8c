package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// replicas is the size of the Deployment that is waited for.
const replicas = 3

// availableLimit is how long its pods may take. On an idle machine they take a tenth of a second.
const availableLimit = time.Minute

// untilAvailable creates a Deployment and returns when all of its pods are available.
func untilAvailable(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeoutCause(ctx, availableLimit, fmt.Errorf("the Deployment was not Available within %v", availableLimit))
	defer cancel()
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	deployment := NewDeployment(metav1.NamespaceDefault, clusterName, replicas)
	if err := c.Create(ctx, deployment); err != nil {
		return err
	}
	_, err = watch.Object(ctx, c, &appsv1.DeploymentList{}, client.ObjectKeyFromObject(deployment), available)
	return err
}

// NewDeployment returns the smallest valid Deployment with that many replicas.
func NewDeployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "memcached"}}},
			},
		},
	}
}

// available reports whether the status is about the present spec and counts all of its pods as available.
func available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas == *d.Spec.Replicas &&
		slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
		})
}
