package bench

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// replicas is the size of the Deployment that is waited for.
const replicas = 3

// availableLimit is how long its pods may take. On an idle machine they take a tenth of a second.
const availableLimit = time.Minute

// untilAvailable creates a Deployment and returns when all of its pods are available.
func untilAvailable(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeoutCause(ctx, availableLimit, fmt.Errorf("the Deployment was not Available within %v", availableLimit))
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	deployments := client.AppsV1().Deployments(metav1.NamespaceDefault)
	created, err := deployments.Create(ctx, NewDeployment(metav1.NamespaceDefault, clusterName, replicas), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, created.Name).String()
	watcher := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.FieldSelector = only
		return deployments.Watch(ctx, o)
	}}
	_, err = watchtools.Until(ctx, created.ResourceVersion, watcher, func(event watch.Event) (bool, error) {
		current, ok := event.Object.(*appsv1.Deployment)
		return ok && available(current), nil
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// NewDeployment returns the least Deployment of that many replicas.
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

// available says that the status is about the present spec and counts all of its pods as available.
func available(d *appsv1.Deployment) bool {
	if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas {
		return false
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
