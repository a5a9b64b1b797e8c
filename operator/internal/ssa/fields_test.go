package ssa

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

func TestFields(t *testing.T) {
	desired := testDesired()
	memcached := &desired.Spec.Template.Spec.Containers[1]
	memcached.WithArgs("-p", "11211").
		WithReadinessProbe(accorev1.Probe().WithTCPSocket(accorev1.TCPSocketAction().WithPort(intstr.FromInt32(1)))).
		WithResources(accorev1.ResourceRequirements().WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}))
	const container = "spec.template.spec.containers[memcached]."
	want := []string{
		"apiVersion",
		"kind",
		"metadata.labels.app",
		"metadata.name",
		"metadata.namespace",
		"spec.replicas",
		container + "args",
		container + "image",
		container + "name",
		container + "ports[11211,TCP].containerPort",
		container + "ports[11211,TCP].name",
		container + "ports[11211,TCP].protocol",
		container + "readinessProbe.tcpSocket.port",
		container + "resources.limits.memory",
		"spec.template.spec.containers[proxy].image",
		"spec.template.spec.containers[proxy].name",
	}
	if diff := cmp.Diff(want, Fields(desired)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestFieldsDependOnNoValue(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*acappsv1.DeploymentApplyConfiguration)
		same   bool
	}{
		"other replicas": {func(d *acappsv1.DeploymentApplyConfiguration) { d.Spec.WithReplicas(4) }, true},
		"another label":  {func(d *acappsv1.DeploymentApplyConfiguration) { d.WithLabels(map[string]string{"app": "other"}) }, true},
		"one label more": {func(d *acappsv1.DeploymentApplyConfiguration) { d.WithLabels(map[string]string{"more": ""}) }, false},
		"one field more": {func(d *acappsv1.DeploymentApplyConfiguration) { d.Spec.WithMinReadySeconds(0) }, false},
		"one field less": {func(d *acappsv1.DeploymentApplyConfiguration) { d.Spec.Replicas = nil }, false},
		"another port": {func(d *acappsv1.DeploymentApplyConfiguration) {
			d.Spec.Template.Spec.Containers[1].Ports[0].WithContainerPort(1)
		}, false},
		"another image": {func(d *acappsv1.DeploymentApplyConfiguration) {
			d.Spec.Template.Spec.Containers[1].Image = new("other")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := testDesired()
			test.change(changed)
			if same := slices.Equal(Fields(changed), Fields(testDesired())); same != test.same {
				t.Errorf("the same fields: %t, want %t", same, test.same)
			}
		})
	}
}
