package controller

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestComparisonIsMadeAgain(t *testing.T) {
	for name, change := range map[string]func(*cachev1alpha1.Memcached, *appsv1.Deployment){
		"another size":          func(mc *cachev1alpha1.Memcached, _ *appsv1.Deployment) { *mc.Spec.Size++ },
		"another port":          func(mc *cachev1alpha1.Memcached, _ *appsv1.Deployment) { *mc.Spec.ContainerPort++ },
		"another Memcached":     func(mc *cachev1alpha1.Memcached, _ *appsv1.Deployment) { mc.UID = "another" },
		"another Deployment":    func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) { d.UID = "another" },
		"another spec":          func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) { d.Generation++ },
		"a label is changed":    func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) { d.Labels[labelInstance] = "another" },
		"a label is gone":       func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) { delete(d.Labels, labelInstance) },
		"an annotation is gone": func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) { d.Annotations = nil },
		"the owner is gone":     func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) { d.OwnerReferences = nil },
		"the owner is not a controller": func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) {
			d.OwnerReferences[0].Controller = new(false)
		},
		"the owner does not block": func(_ *cachev1alpha1.Memcached, d *appsv1.Deployment) {
			d.OwnerReferences[0].BlockOwnerDeletion = new(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 3)
			f.start()
			mc, deployment, writes := f.memcached(), f.deployment(), &f.reconciler.lastWrites
			if !writes.isAsDesired(mc, deployment) {
				t.Fatal("it is compared again although nothing has changed")
			}
			change(mc, deployment)
			if writes.isAsDesired(mc, deployment) {
				t.Error("it is not compared again")
			}
		})
	}
}

func TestComparisonIsKept(t *testing.T) {
	f := newFakeCluster(t, 3)
	f.start()
	mc, deployment, writes := f.memcached(), f.deployment(), &f.reconciler.lastWrites
	mc.ResourceVersion, deployment.ResourceVersion = "another", "another"
	mc.Status, deployment.Status = cachev1alpha1.MemcachedStatus{}, appsv1.DeploymentStatus{}
	deployment.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "another"}}
	if !writes.isAsDesired(mc, deployment) {
		t.Error("it is compared again although nothing has changed that the result depends on")
	}
	f.restartOperator(testImage)
	if f.reconciler.lastWrites.isAsDesired(mc, deployment) {
		t.Error("a new process compares nothing")
	}
}

// TestDesiredTemplateHash compares the hash that is kept with the one of the desired Deployment.
func TestDesiredTemplateHash(t *testing.T) {
	r := &MemcachedReconciler{Image: testImage}
	for _, change := range []func(*cachev1alpha1.Memcached){
		func(*cachev1alpha1.Memcached) {},
		func(*cachev1alpha1.Memcached) {},
		func(mc *cachev1alpha1.Memcached) { *mc.Spec.Size++ },
		func(mc *cachev1alpha1.Memcached) { *mc.Spec.ContainerPort++ },
		func(mc *cachev1alpha1.Memcached) { mc.UID = "another" },
	} {
		mc := testMemcached(3)
		change(mc)
		if got, want := r.desiredTemplateHash(mc, mc.UID), templateHash(desiredDeployment(mc, testImage)); got != want {
			t.Errorf("the hash is %s, want %s", got, want)
		}
		adopted := templateHash(desiredDeploymentSelecting("adopted", mc, testImage))
		if got := r.desiredTemplateHash(mc, "adopted"); got != adopted {
			t.Errorf("the hash with the selector of an adopted Deployment is %s, want %s", got, adopted)
		}
	}
}
