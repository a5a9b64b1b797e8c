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
func (w *world) newDeployment(change func(*appsv1.Deployment)) {
	w.t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testName, UID: "strange-uid"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(7)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	change(deployment)
	if err := w.cluster.Create(w.t.Context(), deployment, client.FieldOwner("somebody-else")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(object client.Object) {
	w.t.Helper()
	if err := w.cluster.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func ownedBy(kind, name string) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) {
		deployment.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: cachev1alpha1.GroupVersion.String(), Kind: kind, Name: name, UID: "another-uid", Controller: new(true),
		}}
	}
}

func TestStrangersAreLeftAlone(t *testing.T) {
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
			w := newWorld(t, 1)
			w.newDeployment(change)
			if w.deployment().Finalizers != nil {
				w.delete(w.deployment())
			}
			before := w.deployment()
			for _, hidden := range []bool{true, false} {
				w.noDeployment = hidden
				w.reconcile()
				if w.recheck != testRecheck {
					t.Errorf("the operator looks again after %s, want %s", w.recheck, testRecheck)
				}
			}
			expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=False/Blocked", "Degraded=True/NameTaken")
			if slices.Contains(w.writes, applyDeployment) || slices.Contains(w.writes, patchDeployment) {
				t.Errorf("writes = %q, want none to the Deployment but the try to create it", w.writes)
			}
			if diff := cmp.Diff(before, w.deployment()); diff != "" {
				t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
			}

			// Another reconcile writes nothing, not even after a restart.
			w.noDeployment = true
			w.restartOperator(testImage)
			expectWrites(t, w.reconcile())

			stranger := w.deployment()
			stranger.Finalizers = nil
			w.update(stranger)
			if stranger.DeletionTimestamp == nil {
				w.delete(stranger)
			}
			w.noDeployment = false
			expectWrites(t, w.reconcile(), createDeployment, patchStatus)
			expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
			if w.recheck <= testRecheck {
				t.Errorf("the operator looks again after %s, want it to wait for changes", w.recheck)
			}
			expectEvents(t, w, "Warning NameTaken", "Normal Recovered")
		})
	}
}

// A Deployment that lost its owner reference, and maybe the label that the cache selects by, still belongs to this Memcached.
func TestAdoption(t *testing.T) {
	for name, labeled := range map[string]bool{"with its labels": true, "without its labels": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.start()
			uid := w.deployment().UID
			w.restartOperator(testImage)
			w.updateDeployment(func(deployment *appsv1.Deployment) {
				deployment.OwnerReferences = nil
				if !labeled {
					deployment.Labels = nil
				}
			})
			w.noDeployment = !labeled
			writes := w.reconcile()
			w.noDeployment = false
			if !slices.Contains(writes, applyDeployment) || slices.Contains(writes, createDeployment) {
				t.Errorf("writes = %q, want the Deployment applied", writes)
			}
			deployment := w.deployment()
			if deployment.UID != uid || !isControlledBy(deployment, "memcached-uid") || deployment.Labels[cachev1alpha1.LabelMemcachedUID] == "" {
				t.Errorf("UID %s, owners %v, labels %v, want UID %s, owned and labeled", deployment.UID, deployment.OwnerReferences, deployment.Labels, uid)
			}
			expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
			expectEvents(t, w)
		})
	}
}

// Deleting a Memcached with --cascade=orphan removes the owner reference from its Deployment. The operator may see that before it
// sees that the Memcached is being deleted.
func TestOrphansStayOrphans(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	w.stale = w.memcached()
	mc := w.memcached()
	mc.Finalizers = []string{metav1.FinalizerOrphanDependents}
	w.update(mc)
	w.delete(mc)
	w.updateDeployment(func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
	before := w.deployment()

	expectWrites(t, w.reconcile())
	w.stale = nil
	expectWrites(t, w.reconcile())
	if diff := cmp.Diff(before, w.deployment()); diff != "" {
		t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
	}
}

// A Memcached with the name of an earlier one waits until the garbage collector has deleted the earlier one's Deployment. That is
// not a failure.
func TestPredecessorsDeploymentIsWaitedFor(t *testing.T) {
	for name, deleting := range map[string]bool{"before the garbage collector comes": false, "while it is being deleted": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.start()
			w.updateDeployment(func(deployment *appsv1.Deployment) { deployment.Finalizers = []string{"example.com/hold"} })
			if deleting {
				w.delete(w.deployment())
			}
			w.delete(w.memcached())
			successor := testMemcached(1)
			successor.UID = "successor-uid"
			if err := w.cluster.Create(t.Context(), successor); err != nil {
				t.Fatal(err)
			}
			before := w.deployment()

			expectWrites(t, w.reconcile(), patchStatus)
			expectConditions(t, w, "Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected")
			if w.recheck != testRecheck {
				t.Errorf("the operator looks again after %s, want %s", w.recheck, testRecheck)
			}
			if diff := cmp.Diff(before, w.deployment()); diff != "" {
				t.Errorf("the Deployment was changed (-before +after):\n%s", diff)
			}

			before.Finalizers = nil
			w.update(before)
			if !deleting {
				w.delete(before)
			}
			expectWrites(t, w.reconcile(), createDeployment, patchStatus)
			if deployment := w.deployment(); !isControlledBy(deployment, "successor-uid") {
				t.Errorf("owners = %v, want the successor", deployment.OwnerReferences)
			}
			expectEvents(t, w)
		})
	}
}

func expectEvents(t *testing.T, w *world, want ...string) {
	t.Helper()
	if !slices.Equal(w.events, want) {
		t.Errorf("events = %q, want %q", w.events, want)
	}
}
