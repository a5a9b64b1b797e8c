package bench

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestAvailable(t *testing.T) {
	ready := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := NewDeployment("default", "bench", replicas)
		d.Generation = 2
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: 2,
			AvailableReplicas:  replicas,
			Conditions:         []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}},
		}
		change(d)
		return d
	}
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"all there":            {func(*appsv1.Deployment) {}, true},
		"an earlier spec":      {func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }, false},
		"one pod is missing":   {func(d *appsv1.Deployment) { d.Status.AvailableReplicas-- }, false},
		"the condition is no":  {func(d *appsv1.Deployment) { d.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"there's no condition": {func(d *appsv1.Deployment) { d.Status.Conditions = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := available(ready(test.change)); got != test.want {
				t.Errorf("available: %v, want %v", got, test.want)
			}
		})
	}
}
