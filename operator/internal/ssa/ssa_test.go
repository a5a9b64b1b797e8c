package ssa

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/operator-testbed/operator/internal/metrics"
)

// testDesired is a Deployment of two containers.
func testDesired() *acappsv1.DeploymentApplyConfiguration {
	return acappsv1.Deployment("sessions", "team").
		WithLabels(map[string]string{"app": "memcached"}).
		WithSpec(acappsv1.DeploymentSpec().
			WithReplicas(3).
			WithTemplate(accorev1.PodTemplateSpec().WithSpec(accorev1.PodSpec().WithContainers(
				accorev1.Container().WithName("proxy").WithImage("proxy:1"),
				accorev1.Container().WithName("memcached").WithImage("memcached:1.6").
					WithPorts(accorev1.ContainerPort().WithName("memcached").WithContainerPort(11211).WithProtocol(corev1.ProtocolTCP)),
			))))
}

// A list that is merged by key is compared by key. An exclusive list may hold only the desired elements.
func TestDriftOfListsThatAreMerged(t *testing.T) {
	const containers = "spec.template.spec.containers"
	for name, test := range map[string]struct {
		edit func(spec *corev1.PodSpec, proxy, memcached *corev1.Container)
		want []string
	}{
		"a field of each":                       {func(_ *corev1.PodSpec, p, m *corev1.Container) { p.Image, m.Image = "", "" }, []string{containers + "[memcached].image", containers + "[proxy].image"}},
		"one is gone, and a field of the other": {func(_ *corev1.PodSpec, p, m *corev1.Container) { p.Name, m.Image = "other", "" }, []string{containers + "[memcached].image", containers + "[proxy]"}},
		"all are gone":                          {func(s *corev1.PodSpec, _, _ *corev1.Container) { s.Containers = nil }, []string{containers + "[memcached]", containers + "[proxy]"}},
		"a foreign one before": {func(s *corev1.PodSpec, _, _ *corev1.Container) {
			s.Containers = append([]corev1.Container{{Name: "a"}}, s.Containers...)
		}, nil},
		"another port": {func(_ *corev1.PodSpec, _, m *corev1.Container) { m.Ports[0].ContainerPort = 1 }, []string{containers + "[memcached].ports[11211,TCP]"}},
		"one more port": {func(_ *corev1.PodSpec, _, m *corev1.Container) {
			m.Ports = append(m.Ports, corev1.ContainerPort{ContainerPort: 1})
		}, []string{containers + "[memcached].ports"}},
	} {
		t.Run(name, func(t *testing.T) {
			live, err := Deployment(testDesired())
			if err != nil {
				t.Fatal(err)
			}
			spec := &live.Spec.Template.Spec
			test.edit(spec, &spec.Containers[0], &spec.Containers[1])
			if diff := cmp.Diff(test.want, Drift(testDesired(), live)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

const testOwner = client.FieldOwner("memcached-operator")

// created returns a client that counts writes and may refuse them, and a Deployment in it that the owner has created with one
// replica.
func created(t *testing.T, refuse map[string]error) (c client.Client, live *appsv1.Deployment, writes *[]string) {
	t.Helper()
	cluster := fake.NewClientBuilder().WithReturnManagedFields().Build()
	live, err := Deployment(testDesired())
	if err != nil {
		t.Fatal(err)
	}
	live.Spec.Replicas = new(int32(1))
	live.UID = "deployment-uid"
	if err := cluster.Create(t.Context(), live, testOwner); err != nil {
		t.Fatal(err)
	}
	writes = &[]string{}
	return interceptor.NewClient(cluster, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			*writes = append(*writes, "patch")
			if err := refuse["patch"]; err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, applied runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			*writes = append(*writes, "apply")
			if err := refuse["apply"]; err != nil {
				return err
			}
			return c.Apply(ctx, applied, options...)
		},
	}), live, writes
}

// counted returns how many writes of an operation the metrics have counted.
func counted(t *testing.T, operation string) float64 {
	t.Helper()
	var metric dto.Metric
	if err := metrics.DeploymentWrites.WithLabelValues(operation).Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetCounter().GetValue()
}

func TestApply(t *testing.T) {
	c, live, writes := created(t, nil)
	desired, before := testDesired(), live.DeepCopy()
	applies, takeOvers := counted(t, metrics.OperationApply), counted(t, metrics.OperationTakeOver)

	applied, err := Apply(t.Context(), c, testOwner, live, desired)
	if err != nil {
		t.Fatal(err)
	}
	if *applied.Spec.Replicas != 3 || applied.UID != live.UID {
		t.Errorf("the Deployment has %d replicas and the UID %q, want 3 and %q", *applied.Spec.Replicas, applied.UID, live.UID)
	}
	if diff := cmp.Diff(before, live); diff != "" {
		t.Errorf("live has changed (-before +after):\n%s", diff)
	}
	if desired.UID != nil {
		t.Error("desired has changed")
	}
	if _, err := Apply(t.Context(), c, testOwner, applied, desired); err != nil {
		t.Fatal(err)
	}
	if want := []string{"patch", "apply", "apply"}; !slices.Equal(*writes, want) {
		t.Errorf("writes: %q, want %q: what was created is taken over once", *writes, want)
	}
	if got := counted(t, metrics.OperationApply) - applies; got != 2 {
		t.Errorf("the metrics count %v applies, want 2", got)
	}
	if got := counted(t, metrics.OperationTakeOver) - takeOvers; got != 1 {
		t.Errorf("the metrics count %v patches, want 1", got)
	}
}

func TestApplyRefused(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "sessions", nil)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "sessions", nil)
	for _, test := range []struct {
		name   string
		refuse map[string]error
		fields string
		moved  bool
		want   []string
	}{
		{"owners have moved", map[string]error{"patch": invalid}, "", true, []string{"patch"}},
		{"patch forbidden", map[string]error{"patch": forbidden}, "", false, []string{"patch"}},
		{"apply invalid", map[string]error{"apply": invalid}, "", false, []string{"patch", "apply"}},
		{"fields that can't be read", nil, "{", false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, live, writes := created(t, test.refuse)
			if test.fields != "" {
				live.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(test.fields)
			}
			applied, err := Apply(t.Context(), c, testOwner, live, testDesired())
			if err == nil {
				t.Fatalf("Apply() = %v, want an error", applied)
			}
			if moved := errors.Is(err, ErrOwnershipMoved); moved != test.moved {
				t.Errorf("ErrOwnershipMoved: %t, want %t: %v", moved, test.moved, err)
			}
			for _, cause := range test.refuse {
				if !errors.Is(err, cause) {
					t.Errorf("%v does not wrap %v", err, cause)
				}
			}
			if !slices.Equal(*writes, test.want) {
				t.Errorf("writes: %q, want %q", *writes, test.want)
			}
		})
	}
}
