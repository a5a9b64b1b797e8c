package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	createDeployment = "create Deployment"
	applyDeployment  = "apply Deployment"
	patchDeployment  = "patch Deployment"
	patchStatus      = "patch Memcached status"
)

func TestFromCreationToAvailable(t *testing.T) {
	for size, most := range map[int32]int{1: 3, 3: 5, 5: 7} {
		t.Run(fmt.Sprintf("size %d", size), func(t *testing.T) {
			w := newWorld(t, size)

			expectWrites(t, w.reconcile(), createDeployment, patchStatus)
			expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")

			w.controlDeployment()
			expectWrites(t, w.reconcile())

			for i := range size {
				w.setReady(int(i), corev1.ConditionTrue)
				expectWrites(t, w.reconcile(), patchStatus)
			}
			expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
			if len(w.writes) > most {
				t.Errorf("%d writes from creation to Available, want at most %d: %q", len(w.writes), most, w.writes)
			}

			status := w.memcached().Status
			if status.Replicas != size || status.ReadyReplicas != size || len(status.Nodes) != int(size) || !slices.IsSorted(status.Nodes) {
				t.Errorf("status.replicas, readyReplicas and nodes are %d, %d and %v, want %d sorted nodes",
					status.Replicas, status.ReadyReplicas, status.Nodes, size)
			}
		})
	}
}

func TestNothingToDoIsNoWrite(t *testing.T) {
	w := newWorld(t, 3)
	w.start()

	t.Run("steady state", func(t *testing.T) {
		expectWrites(t, w.reconcile())
	})
	t.Run("after a restart", func(t *testing.T) {
		w.restartOperator(testImage)
		expectWrites(t, w.reconcile())
	})
	t.Run("after a change that is not the operator's concern", func(t *testing.T) {
		w.updateDeployment(func(deployment *appsv1.Deployment) {
			deployment.Annotations["team.example.com/owner"] = "somebody"
			deployment.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
			deployment.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy"}}, deployment.Spec.Template.Spec.Containers...)
		})
		w.controlDeployment()
		expectWrites(t, w.reconcile())
	})
	t.Run("when it is being deleted", func(t *testing.T) {
		mc := w.memcached()
		mc.Finalizers = []string{"example.com/somebody-elses"}
		w.update(mc)
		if err := w.cluster.Delete(t.Context(), w.memcached()); err != nil {
			t.Fatal(err)
		}
		if err := w.cluster.Delete(t.Context(), w.deployment()); err != nil {
			t.Fatal(err)
		}
		expectWrites(t, w.reconcile())
	})
}

func TestScaling(t *testing.T) {
	w := newWorld(t, 1)
	w.start()

	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
	expectWrites(t, w.reconcile(), patchDeployment, applyDeployment, patchStatus)
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	w.controlDeployment()
	w.setReady(1, corev1.ConditionTrue)
	w.setReady(2, corev1.ConditionTrue)
	expectWrites(t, w.reconcile(), patchStatus)
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")

	// When scaling down, there is nothing to report until the Deployment's controller has seen it. Then two pods are left over
	// or, as here, gone already. Available stays true all the time.
	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(1)) })
	if got := w.reconcile(); got[0] != applyDeployment || slices.Contains(got, patchDeployment) {
		t.Errorf("writes = %q, want the Deployment applied, with no second taking over of its fields", got)
	}
	w.controlDeployment()
	w.reconcile()
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	if got := *w.deployment().Spec.Replicas; got != 1 {
		t.Errorf("the Deployment has %d replicas, want 1", got)
	}
	for _, condition := range w.memcached().Status.Conditions {
		if condition.ObservedGeneration != 3 {
			t.Errorf("%s has observedGeneration %d, want 3", condition.Type, condition.ObservedGeneration)
		}
	}
}

func TestChangingThePortReplacesThePods(t *testing.T) {
	w := newWorld(t, 1)
	w.start()

	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(22122)) })
	expectWrites(t, w.reconcile(), patchDeployment, applyDeployment, patchStatus)
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected")

	container := w.deployment().Spec.Template.Spec.Containers[0]
	if want := []corev1.ContainerPort{{Name: "memcached", ContainerPort: 22122, Protocol: corev1.ProtocolTCP}}; !cmp.Equal(container.Ports, want) {
		t.Errorf("ports = %v, want %v", container.Ports, want)
	}
	if want := []string{"-p", "22122"}; !slices.Equal(container.Args[:2], want) {
		t.Errorf("args = %q, want them to begin with %q", container.Args, want)
	}

	w.controlDeployment()
	w.setReady(0, corev1.ConditionTrue)
	expectWrites(t, w.reconcile(), patchStatus)
	expectConditions(t, w, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
}

func TestFallingEdge(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"a pod is no longer ready": func(w *world) { w.setReady(1, corev1.ConditionFalse) },
		"a pod is gone": func(w *world) {
			if err := w.cluster.Delete(w.t.Context(), &w.pods()[1]); err != nil {
				w.t.Fatal(err)
			}
		},
		"a pod is being deleted": func(w *world) {
			pod := w.pods()[1]
			pod.Finalizers = []string{"example.com/hold"}
			w.update(&pod)
			if err := w.cluster.Delete(w.t.Context(), &pod); err != nil {
				w.t.Fatal(err)
			}
		},
		"the Deployment is gone": func(w *world) {
			if err := w.cluster.Delete(w.t.Context(), w.deployment()); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3)
			w.start()
			lose(w)
			w.reconcile()
			if got := w.conditions()[0]; got != "Available=False/ReplicasNotReady" {
				t.Errorf("got %s, want Available=False", got)
			}
		})
	}
}

func TestDeploymentComesBack(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	if err := w.cluster.Delete(t.Context(), w.deployment()); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, w.reconcile(), createDeployment, patchStatus)
}

// A Memcached's Deployment is deleted with it, and the operator may see that before it sees the Memcached's deletion.
func TestDeploymentOfAMemcachedThatIsGone(t *testing.T) {
	for name, remove := range map[string]func(*world){
		"deleted": func(w *world) {
			if err := w.cluster.Delete(w.t.Context(), w.memcached()); err != nil {
				w.t.Fatal(err)
			}
		},
		"being deleted": func(w *world) {
			mc := w.memcached()
			mc.Finalizers = []string{metav1.FinalizerDeleteDependents}
			w.update(mc)
			if err := w.cluster.Delete(w.t.Context(), mc); err != nil {
				w.t.Fatal(err)
			}
		},
		"made anew under the same name": func(w *world) {
			if err := w.cluster.Delete(w.t.Context(), w.memcached()); err != nil {
				w.t.Fatal(err)
			}
			successor := testMemcached(1)
			successor.UID = "successor-uid"
			if err := w.cluster.Create(w.t.Context(), successor); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.start()
			w.t = t
			w.stale = w.memcached()
			remove(w)
			if err := w.cluster.Delete(t.Context(), w.deployment()); err != nil {
				t.Fatal(err)
			}
			expectWrites(t, w.reconcile())
		})
	}
}

func TestTerminatingDeploymentIsWaitedFor(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	w.updateDeployment(func(deployment *appsv1.Deployment) {
		deployment.Finalizers = []string{metav1.FinalizerDeleteDependents}
	})
	if err := w.cluster.Delete(t.Context(), w.deployment()); err != nil {
		t.Fatal(err)
	}
	w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })

	expectWrites(t, w.reconcile(), patchStatus)
	expectConditions(t, w, "Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected")
}

func TestNewImageRollsOut(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	w.restartOperator("memcached@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	expectWrites(t, w.reconcile(), patchDeployment, applyDeployment, patchStatus)
	if got := w.deployment().Spec.Template.Spec.Containers[0].Image; got != w.reconciler.Image {
		t.Errorf("image = %s, want %s", got, w.reconciler.Image)
	}
}

// The API server shows the operator's own writes at once, but the operator's cache does not.
func TestCacheThatLagsBehind(t *testing.T) {
	t.Run("the status was written", func(t *testing.T) {
		w := newWorld(t, 1)
		w.stale = w.memcached()
		expectWrites(t, w.reconcile(), createDeployment, patchStatus)
		first := w.memcached().Status.Conditions[0].LastTransitionTime

		w.controlDeployment()
		w.setReady(0, corev1.ConditionTrue)
		expectWrites(t, w.reconcile(), patchStatus)
		w.stale = w.memcached()
		w.setReady(0, corev1.ConditionFalse)
		expectWrites(t, w.reconcile(), patchStatus)
		expectWrites(t, w.reconcile())
		if w.memcached().Status.Conditions[0].LastTransitionTime.Before(&first) {
			t.Error("Available goes back in time")
		}
	})
	t.Run("the Deployment was created", func(t *testing.T) {
		w := newWorld(t, 1)
		w.noDeployment = true
		expectWrites(t, w.reconcile(), createDeployment, patchStatus)
	})
	t.Run("the Deployment was applied", func(t *testing.T) {
		w := newWorld(t, 1)
		w.start()
		w.noDeployment = true
		expectWrites(t, w.reconcile())
	})
	t.Run("the status was changed by somebody else", func(t *testing.T) {
		w := newWorld(t, 1)
		w.start()
		mc := w.memcached()
		mc.Status.Nodes = []string{"no-such-pod"}
		if err := w.cluster.Status().Update(t.Context(), mc); err != nil {
			t.Fatal(err)
		}
		expectWrites(t, w.reconcile(), patchStatus)
	})
}

// The records of an earlier Memcached with the same name do not count.
func TestRecreatedMemcached(t *testing.T) {
	w := newWorld(t, 1)
	w.start()
	for _, object := range []client.Object{w.memcached(), w.deployment(), &w.pods()[0]} {
		if err := w.cluster.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	successor := testMemcached(1)
	successor.UID = "successor-uid"
	if err := w.cluster.Create(t.Context(), successor); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, w.reconcile(), createDeployment, patchStatus)
	expectConditions(t, w, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
}

// Whatever write fails, before or after it took effect, and whether or not the operator restarts, the result is the same: no
// status is ever untrue (see checkTruth), and then there is nothing left to write.
func TestEveryWriteMayFail(t *testing.T) {
	life := func(w *world) {
		settle := func() {
			for range 10 {
				if w.reconcileOnce() == nil {
					break
				}
			}
			w.reconcile()
		}
		settle()
		w.controlDeployment()
		for i := range 2 {
			w.setReady(i, corev1.ConditionTrue)
			settle()
		}
		w.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size, *spec.ContainerPort = 1, 22122 })
		settle()
		w.controlDeployment()
		w.setReady(0, corev1.ConditionTrue)
		settle()
	}
	healthy := newWorld(t, 2)
	life(healthy)
	total := len(healthy.writes)
	if total < 8 {
		t.Fatalf("the life has only %d writes: %q", total, healthy.writes)
	}

	for i := range total {
		for _, after := range []bool{false, true} {
			for _, crash := range []bool{false, true} {
				t.Run(fmt.Sprintf("write %d, after=%t, crash=%t", i, after, crash), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, 2)
					calls := 0
					w.fail = func(_ string, now bool) error {
						if now != after {
							return nil
						}
						calls++
						if calls-1 != i {
							return nil
						}
						if crash {
							w.restartOperator(testImage)
						}
						return errors.New("connection reset by peer")
					}
					life(w)
					if calls <= i {
						t.Fatalf("write %d never happened", i)
					}
					if diff := cmp.Diff(withoutTimes(healthy.memcached().Status), withoutTimes(w.memcached().Status)); diff != "" {
						t.Errorf("another status than without the failure (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(healthy.deployment().Spec, w.deployment().Spec); diff != "" {
						t.Errorf("another Deployment than without the failure (-want +got):\n%s", diff)
					}
					expectWrites(t, w.reconcile())
				})
			}
		}
	}
}

func expectWrites(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("writes = %q, want %q", got, want)
	}
}

func expectConditions(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.conditions()); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
