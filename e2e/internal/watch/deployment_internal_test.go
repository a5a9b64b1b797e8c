package watch

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
)

func TestComplete(t *testing.T) {
	for name, tc := range map[string]struct {
		status appsv1.DeploymentStatus
		want   bool
	}{
		"all that it wants":         {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}, true},
		"not seen yet":              {appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}, false},
		"one not available":         {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1}, false},
		"one of before still there": {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 2}, false},
		"one of before still used":  {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDeployment("default", "complete", 2)
			d.Generation, d.Status = 2, tc.status
			NewWithT(t).Expect(Complete(d)).To(Equal(tc.want))
		})
	}
}
