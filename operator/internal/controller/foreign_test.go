package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// newDeployment creates a Deployment with the Memcached's name, as somebody else does.
func (f *fakeCluster) newDeployment(change func(*appsv1.Deployment)) {
	f.t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testName, UID: "strange-uid"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(7)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	change(deployment)
	if err := f.api.Create(f.t.Context(), deployment, client.FieldOwner("somebody-else")); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeCluster) delete(object client.Object) {
	f.t.Helper()
	if err := f.api.Delete(f.t.Context(), object); err != nil {
		f.t.Fatal(err)
	}
}

func ownedBy(kind, name string) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) {
		deployment.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: cachev1alpha1.GroupVersion.String(), Kind: kind, Name: name, UID: "another-uid", Controller: new(true),
		}}
	}
}

func TestForeignDeploymentsAreLeftUnchanged(t *testing.T) {
	for name, change := range map[string]func(*appsv1.Deployment){
		"nobody controls it":               func(*appsv1.Deployment) {},
		"another kind controls it":         ownedBy("Website", testName),
		"a Memcached of another name does": ownedBy("Memcached", "another"),
		"it selects for another Memcached": func(deployment *appsv1.Deployment) {
			deployment.Spec.Selector.MatchLabels = map[string]string{cachev1alpha1.LabelMemcachedUID: "another-uid"}
		},
		"it has no selector": func(deployment *appsv1.Deployment) { deployment.Spec.Selector = nil },
		"it is being deleted": func(deployment *appsv1.Deployment) {
			deployment.Finalizers = []string{"example.com/hold"}
		},
		"another controls what selects for this Memcached": func(deployment *appsv1.Deployment) {
			ownedBy("Website", testName)(deployment)
			deployment.Spec.Selector.MatchLabels = map[string]string{cachev1alpha1.LabelMemcachedUID: "memcached-uid"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 1)
			f.newDeployment(change)
			if f.deployment().Finalizers != nil {
				f.delete(f.deployment())
			}
			before := f.deployment()
			for _, hidden := range []bool{true, false} {
				f.noDeployment = hidden
				f.reconcile()
				if f.recheck != testRecheck {
					t.Errorf("the operator checks again after %s, want %s", f.recheck, testRecheck)
				}
			}
			expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/NameTaken")
			if slices.Contains(f.writes, applyDeployment) || slices.Contains(f.writes, patchDeployment) {
				t.Errorf("writes = %q, want none to the Deployment but the attempt to create it", f.writes)
			}
			if diff := cmp.Diff(before, f.deployment()); diff != "" {
				t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
			}

			// Another reconcile writes nothing, not even after a restart.
			f.noDeployment = true
			f.restartOperator(testImage)
			expectWrites(t, f.reconcile())

			foreign := f.deployment()
			foreign.Finalizers = nil
			f.update(foreign)
			if foreign.DeletionTimestamp == nil {
				f.delete(foreign)
			}
			f.noDeployment = false
			expectWrites(t, f.reconcile(), createDeployment, patchStatus)
			expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
			if f.recheck <= testRecheck {
				t.Errorf("the operator checks again after %s, want it to wait for changes", f.recheck)
			}
			expectEvents(t, f, "Warning NameTaken", "Normal Recovered")
		})
	}
}

// A Deployment that lost its owner reference, and maybe the label that the cache selects by, still belongs to this Memcached.
func TestAdoption(t *testing.T) {
	for name, labeled := range map[string]bool{"with its labels": true, "without its labels": false} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 1)
			f.start()
			uid := f.deployment().UID
			f.restartOperator(testImage)
			f.updateDeployment(func(deployment *appsv1.Deployment) {
				deployment.OwnerReferences = nil
				if !labeled {
					deployment.Labels = nil
				}
			})
			f.noDeployment = !labeled
			writes := f.reconcile()
			f.noDeployment = false
			if !slices.Contains(writes, applyDeployment) || slices.Contains(writes, createDeployment) {
				t.Errorf("writes = %q, want the Deployment applied", writes)
			}
			deployment := f.deployment()
			if deployment.UID != uid || !isControlledBy(deployment, "memcached-uid") || deployment.Labels[cachev1alpha1.LabelMemcachedUID] == "" {
				t.Errorf("UID %s, owners %v, labels %v, want UID %s, owned and labeled", deployment.UID, deployment.OwnerReferences, deployment.Labels, uid)
			}
			expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
			expectEvents(t, f)
		})
	}
}

// Deleting a Memcached with --cascade=orphan removes the owner reference from its Deployment. The operator may see that before it
// sees that the Memcached is being deleted.
func TestOrphansStayOrphans(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	f.stale = f.memcached()
	mc := f.memcached()
	mc.Finalizers = []string{metav1.FinalizerOrphanDependents}
	f.update(mc)
	f.delete(mc)
	f.updateDeployment(func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
	before := f.deployment()

	expectWrites(t, f.reconcile())
	f.stale = nil
	expectWrites(t, f.reconcile())
	if diff := cmp.Diff(before, f.deployment()); diff != "" {
		t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
	}
}

// A Memcached with the name of an earlier one waits until the garbage collector has deleted the earlier one's Deployment. That is
// not a failure.
func TestPredecessorsDeploymentIsWaitedFor(t *testing.T) {
	for name, deleting := range map[string]bool{"before the garbage collector comes": false, "while it is being deleted": true} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 1)
			f.start()
			f.updateDeployment(func(deployment *appsv1.Deployment) { deployment.Finalizers = []string{"example.com/hold"} })
			if deleting {
				f.delete(f.deployment())
			}
			f.delete(f.memcached())
			successor := testMemcached(1)
			successor.UID = "successor-uid"
			if err := f.api.Create(t.Context(), successor); err != nil {
				t.Fatal(err)
			}
			before := f.deployment()

			expectWrites(t, f.reconcile(), patchStatus)
			expectConditions(t, f, "Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected")
			if f.recheck != testRecheck {
				t.Errorf("the operator checks again after %s, want %s", f.recheck, testRecheck)
			}
			if diff := cmp.Diff(before, f.deployment()); diff != "" {
				t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
			}

			before.Finalizers = nil
			f.update(before)
			if !deleting {
				f.delete(before)
			}
			expectWrites(t, f.reconcile(), createDeployment, patchStatus)
			if deployment := f.deployment(); !isControlledBy(deployment, "successor-uid") {
				t.Errorf("owners = %v, want the successor", deployment.OwnerReferences)
			}
			expectEvents(t, f)
		})
	}
}

func expectEvents(t *testing.T, f *fakeCluster, want ...string) {
	t.Helper()
	if !slices.Equal(f.events, want) {
		t.Errorf("events = %q, want %q", f.events, want)
	}
}
