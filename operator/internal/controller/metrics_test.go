package controller

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/metrics"
)

// The metrics count the writes, and each Memcached's first time Available once.
func TestMetricsCountWrites(t *testing.T) {
	counted := func() map[string]int {
		histogram := &dto.Metric{}
		if err := metrics.TimeToAvailable.Write(histogram); err != nil {
			t.Fatal(err)
		}
		return map[string]int{
			createDeployment: int(testutil.ToFloat64(metrics.DeploymentWrites.WithLabelValues(metrics.OperationCreate))),
			patchDeployment:  int(testutil.ToFloat64(metrics.DeploymentWrites.WithLabelValues(metrics.OperationTakeOver))),
			applyDeployment:  int(testutil.ToFloat64(metrics.DeploymentWrites.WithLabelValues(metrics.OperationApply))),
			patchStatus:      int(testutil.ToFloat64(metrics.StatusWrites)),
			"first time":     int(histogram.GetHistogram().GetSampleCount()),
		}
	}
	before := counted()
	f := newFakeCluster(t, 1)
	f.start()
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
	f.reconcile()
	f.controlDeployment()
	f.setReady(1, corev1.ConditionTrue)
	f.reconcile()
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.ContainerPort = 22122 })
	f.reconcile()
	f.refuse(patchStatus, errPermission)
	f.setReady(1, corev1.ConditionFalse)
	if err := f.reconcileOnce(); err == nil {
		t.Error("no error, want the refusal")
	}

	want := map[string]int{"first time": 1}
	for _, write := range []string{createDeployment, patchDeployment, applyDeployment, patchStatus} {
		for _, written := range f.writes {
			if written == write {
				want[write]++
			}
		}
		if !slices.Contains(f.writes, write) {
			t.Fatalf("writes = %q, want a %s among them", f.writes, write)
		}
	}
	for what, now := range counted() {
		if got := now - before[what]; got != want[what] {
			t.Errorf("%s: counted %d, want %d", what, got, want[what])
		}
	}

	f.fail = nil
	f.restartOperator("another-image")
	f.reconcile()
	f.controlDeployment()
	f.setReady(0, corev1.ConditionTrue)
	f.setReady(1, corev1.ConditionTrue)
	f.reconcile()
	if got := counted()["first time"] - before["first time"]; got != 1 {
		t.Errorf("%d times Available for the first time, want 1", got)
	}
}
