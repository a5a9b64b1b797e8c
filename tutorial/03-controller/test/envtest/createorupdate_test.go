package envtest

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A writer writes the Deployment of an operator, whose first version sets one more field than the second.
type writer func(ctx context.Context, c client.Client, namespace string, version int) error

var labels = map[string]string{"app": "memcached"}

func newDeployment(namespace string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "memcached"}}
}

// createOrUpdate reads the Deployment, sets fields of it, and sends all of it back.
func createOrUpdate(ctx context.Context, c client.Client, namespace string, version int) error {
	deployment := newDeployment(namespace)
	_, err := controllerutil.CreateOrUpdate(ctx, c, deployment, func() error {
		deployment.Spec.Replicas = new(int32(3))
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "memcached", Image: "memcached"}}
		if version == 1 {
			deployment.Spec.MinReadySeconds = 5
		}
		return nil
	})
	return err
}

// apply sends the same fields, and no others.
func apply(ctx context.Context, c client.Client, namespace string, version int) error {
	spec := acappsv1.DeploymentSpec().
		WithReplicas(3).
		WithSelector(acmetav1.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(accorev1.PodTemplateSpec().
			WithLabels(labels).
			WithSpec(accorev1.PodSpec().WithContainers(accorev1.Container().WithName("memcached").WithImage("memcached"))))
	if version == 1 {
		spec.WithMinReadySeconds(5)
	}
	return c.Apply(ctx, acappsv1.Deployment("memcached", namespace).WithSpec(spec), client.FieldOwner("operator"), client.ForceOwnership)
}

// anotherProgram changes a field that the operator sets, and adds a label and a container.
func anotherProgram(ctx context.Context, c client.Client, namespace string) error {
	const patch = `{"metadata": {"labels": {"team": "web"}}, "spec": {"replicas": 1,
		"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy"}]}}}}`
	return c.Patch(ctx, newDeployment(namespace), client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.FieldOwner("another-program"))
}

// afterAll returns the Deployment after version 1 of an operator, another program and version 2 have written it.
func afterAll(t *testing.T, c client.Client, namespace string, write writer) *appsv1.Deployment {
	t.Helper()
	ctx, deployment := t.Context(), newDeployment(namespace)
	if err := write(ctx, c, namespace, 1); err != nil {
		t.Fatal(err)
	}
	if err := anotherProgram(ctx, c, namespace); err != nil {
		t.Fatal(err)
	}
	err := write(ctx, c, namespace, 2)
	for apierrors.IsConflict(err) { // the Deployment controller of an existing cluster has written since the read
		err = write(ctx, c, namespace, 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}

// TestApplyAndCreateOrUpdate shows what is left of changes when an operator writes its Deployment again, in one of two ways.
func TestApplyAndCreateOrUpdate(t *testing.T) {
	//nolint:dupword // two columns of the table can say the same
	const want = `
                                       apply   CreateOrUpdate
replicas that another program changes  gone    gone
a label that another program adds      stays   stays
a container that another program adds  stays   gone
a field that the operator drops        gone    stays
`
	config := startAPIServer(t)
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clientset := kubernetes.NewForConfigOrDie(config)
	applied := afterAll(t, c, namespace(t, clientset).Name, apply)
	updated := afterAll(t, c, namespace(t, clientset).Name, createOrUpdate)

	got := fmt.Sprintf("\n%-38s %-7s CreateOrUpdate\n", "", "apply")
	for _, change := range []struct {
		what string
		is   func(*appsv1.Deployment) bool
	}{
		{"replicas that another program changes", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 1 }},
		{"a label that another program adds", func(d *appsv1.Deployment) bool { return d.Labels["team"] != "" }},
		{"a container that another program adds", func(d *appsv1.Deployment) bool { return len(d.Spec.Template.Spec.Containers) == 2 }},
		{"a field that the operator drops", func(d *appsv1.Deployment) bool { return d.Spec.MinReadySeconds == 5 }},
	} {
		outcome := map[bool]string{true: "stays", false: "gone"}
		got += fmt.Sprintf("%-38s %-7s %s\n", change.what, outcome[change.is(applied)], outcome[change.is(updated)])
	}
	if got != want {
		t.Fatalf("expected%s\nlast seen:%s", want, got)
	}
	t.Log(got)
}
