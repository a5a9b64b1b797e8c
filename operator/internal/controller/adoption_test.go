package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const restoredUID types.UID = "restored-uid"

// restore deletes the Memcached and its Deployment, and creates both again as a restore from a backup does: with other UIDs, and
// without owner references. The Deployment has the field manager that it had in the backup.
func (f *fakeCluster) restore(manager client.FieldOwner, change func(*appsv1.Deployment)) {
	f.t.Helper()
	saved := f.deployment()
	f.delete(f.memcached())
	f.delete(saved)
	for _, pod := range f.pods() {
		f.delete(&pod)
	}
	for _, replicaSet := range f.replicaSets() {
		f.delete(&replicaSet)
	}

	restored := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: saved.Namespace, Name: saved.Name, UID: "restored-deployment-uid",
			Labels: saved.Labels, Annotations: saved.Annotations,
		},
		Spec: saved.Spec,
	}
	change(restored)
	if err := f.api.Create(f.t.Context(), restored, manager); err != nil {
		f.t.Fatal(err)
	}
	mc := testMemcached(*saved.Spec.Replicas)
	mc.UID = restoredUID
	if err := f.api.Create(f.t.Context(), mc); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeCluster) replicaSets() []appsv1.ReplicaSet {
	f.t.Helper()
	replicaSets := &appsv1.ReplicaSetList{}
	if err := f.api.List(f.t.Context(), replicaSets, client.InNamespace(testNamespace)); err != nil {
		f.t.Fatal(err)
	}
	return replicaSets.Items
}

func unchanged(*appsv1.Deployment) {}

// A Deployment that was restored from a backup is adopted as it is: with its selector and its pods.
func TestRestoredDeploymentIsAdopted(t *testing.T) {
	f := newFakeCluster(t, 2)
	f.start()
	f.restore(client.FieldOwner(cachev1alpha1.FieldManager), unchanged)
	f.controlDeployment()
	for i := range f.pods() {
		f.setReady(i, "True")
	}
	before := f.deployment()
	f.events = nil

	writes := f.reconcile()
	if !slices.Contains(writes, applyDeployment) || slices.ContainsFunc(writes, func(write string) bool {
		return write == createDeployment || write == "delete Deployment"
	}) {
		t.Errorf("writes = %q, want the Deployment applied", writes)
	}
	after := f.deployment()
	if after.UID != before.UID || !isControlledBy(after, restoredUID) {
		t.Errorf("UID %s, owners %v, want UID %s, controlled by the restored Memcached", after.UID, after.OwnerReferences, before.UID)
	}
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("the spec of the Deployment, whose pods it restarts, was changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Labels, after.Labels); diff != "" {
		t.Errorf("labels (-before +after):\n%s", diff)
	}
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	expectEvents(t, f)
	status := f.memcached().Status
	if want := cachev1alpha1.LabelMemcachedUID + "=memcached-uid"; status.Selector != want || len(status.Nodes) != 2 {
		t.Errorf("selector %q, nodes %q, want %q, which selects the two pods", status.Selector, status.Nodes, want)
	}

	t.Run("writes nothing more", func(t *testing.T) {
		f.restartOperator(testImage)
		expectWrites(t, f.reconcile())
	})
	t.Run("loses its owner again", func(t *testing.T) {
		f.updateDeployment(func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
		f.reconcile()
		if deployment := f.deployment(); !isControlledBy(deployment, restoredUID) {
			t.Errorf("owners %v, want the restored Memcached", deployment.OwnerReferences)
		}
	})
	t.Run("is repaired", func(t *testing.T) {
		f.updateDeployment(func(deployment *appsv1.Deployment) {
			deployment.Labels[cachev1alpha1.LabelMemcachedUID] = string(restoredUID)
			deployment.Spec.Replicas = new(int32(4))
		})
		f.reconcile()
		if diff := cmp.Diff(before.Spec, f.deployment().Spec); diff != "" {
			t.Errorf("spec (-before +after):\n%s", diff)
		}
		if got := f.deployment().Labels[cachev1alpha1.LabelMemcachedUID]; got != "memcached-uid" {
			t.Errorf("the label is %q, want that of the selector", got)
		}
	})
	t.Run("is replaced by an ordinary one when it is deleted", func(t *testing.T) {
		f.delete(f.deployment())
		f.reconcile()
		if got := selectorUID(f.deployment()); got != restoredUID {
			t.Errorf("the new Deployment selects by %q, want the UID of the restored Memcached", got)
		}
		if want := cachev1alpha1.LabelMemcachedUID + "=" + string(restoredUID); f.memcached().Status.Selector != want {
			t.Errorf("selector %q, want %q", f.memcached().Status.Selector, want)
		}
	})
}

// What only looks like a restored Deployment is left alone.
func TestOnlyRestoredDeploymentsAreAdopted(t *testing.T) {
	ours := client.FieldOwner(cachev1alpha1.FieldManager)
	for name, test := range map[string]struct {
		manager client.FieldOwner
		change  func(*appsv1.Deployment)
		// another is the UID of a Memcached that exists too.
		another types.UID
	}{
		"another field manager created it":          {"kubectl-create", unchanged, ""},
		"another Memcached has that UID":            {ours, unchanged, "memcached-uid"},
		"its pods are for another Memcached's name": {ours, func(d *appsv1.Deployment) { d.Spec.Template.Labels[labelInstance] = "another" }, ""},
		"its selector carries no UID":               {ours, func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels = map[string]string{"app": "web"} }, ""},
		"it has a controller":                       {ours, ownedBy("Website", testName), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 1)
			f.start()
			f.restore(test.manager, test.change)
			if test.another != "" {
				another := testMemcached(1)
				another.Name, another.UID = "another", test.another
				if err := f.api.Create(t.Context(), another); err != nil {
					t.Fatal(err)
				}
			}
			before := f.deployment()
			expectWrites(t, f.reconcile(), patchStatus)
			expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/NameTaken")
			if diff := cmp.Diff(before, f.deployment()); diff != "" {
				t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
			}
			if f.recheck != testRecheck {
				t.Errorf("the operator checks again after %s, want %s", f.recheck, testRecheck)
			}
		})
	}
}

// A Memcached of the same name in another namespace has other pods, whatever selects them.
func TestCloneOfANamespaceIsAdopted(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	f.restore(client.FieldOwner(cachev1alpha1.FieldManager), unchanged)
	original := testMemcached(1)
	original.Namespace = "production"
	if err := f.api.Create(t.Context(), original); err != nil {
		t.Fatal(err)
	}
	f.reconcile()
	if deployment := f.deployment(); !isControlledBy(deployment, restoredUID) {
		t.Errorf("owners %v, want the restored Memcached", deployment.OwnerReferences)
	}
}
