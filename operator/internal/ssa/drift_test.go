package ssa

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

// Each shape that a field of a Deployment can have: a scalar with and without a pointer, inlined fields, lists of scalars, lists
// that are merged by key and lists that are not.
func TestDrift(t *testing.T) {
	desired := acappsv1.Deployment("name", "namespace").WithSpec(acappsv1.DeploymentSpec().
		WithPaused(false).
		WithReplicas(0).
		WithTemplate(accorev1.PodTemplateSpec().WithSpec(accorev1.PodSpec().WithContainers(accorev1.Container().
			WithName("a").
			WithArgs("x", "y").
			WithEnv(accorev1.EnvVar().WithName("A").WithValue("1"), accorev1.EnvVar().WithName("B")).
			WithReadinessProbe(accorev1.Probe().WithTCPSocket(accorev1.TCPSocketAction().WithPort(intstr.FromInt32(1)))),
		))))
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment, *corev1.Container)
		want   []string
	}{
		"nothing":              {func(*appsv1.Deployment, *corev1.Container) {}, nil},
		"a zero":               {func(d *appsv1.Deployment, _ *corev1.Container) { d.Spec.Replicas = nil }, []string{"spec.replicas"}},
		"a zero of no pointer": {func(d *appsv1.Deployment, _ *corev1.Container) { d.Spec.Paused = true }, []string{"spec.paused"}},
		"a longer list of scalars": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.Args = append(c.Args, "z") },
			[]string{"spec.template.spec.containers[a].args"},
		},
		"an inlined field": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.ReadinessProbe.TCPSocket.Port = intstr.FromInt32(2) },
			[]string{"spec.template.spec.containers[a].readinessProbe.tcpSocket.port"},
		},
		"a struct that is gone": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.ReadinessProbe = nil },
			[]string{"spec.template.spec.containers[a].readinessProbe"},
		},
		"a longer list of structs": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: "C"}) },
			[]string{"spec.template.spec.containers[a].env"},
		},
		"a shorter list of structs": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.Env = c.Env[:1] },
			[]string{"spec.template.spec.containers[a].env[1]"},
		},
		"an element of a list of structs": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.Env[0].Value = "2" },
			[]string{"spec.template.spec.containers[a].env[0].value"},
		},
		"an element of a list that is merged by key": {
			func(_ *appsv1.Deployment, c *corev1.Container) { c.Name = "b" },
			[]string{"spec.template.spec.containers[a]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, err := Deployment(desired)
			if err != nil {
				t.Fatal(err)
			}
			test.change(live, &live.Spec.Template.Spec.Containers[0])
			if diff := cmp.Diff(test.want, Drift(desired, live)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}
