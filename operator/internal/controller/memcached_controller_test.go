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
			f := newFakeCluster(t, size)

			expectWrites(t, f.reconcile(), createDeployment, patchStatus)
			expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")

			f.controlDeployment()
			expectWrites(t, f.reconcile())

			for i := range size {
				f.setReady(int(i), corev1.ConditionTrue)
				expectWrites(t, f.reconcile(), patchStatus)
			}
			expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
			if len(f.writes) > most {
				t.Errorf("%d writes from creation to Available, want at most %d: %q", len(f.writes), most, f.writes)
			}

			status := f.memcached().Status
			if status.Replicas != size || status.ReadyReplicas != size || len(status.Nodes) != int(size) || !slices.IsSorted(status.Nodes) {
				t.Errorf("status.replicas, readyReplicas and nodes are %d, %d and %v, want %d sorted nodes",
					status.Replicas, status.ReadyReplicas, status.Nodes, size)
			}
		})
	}
}

func TestNothingToDoIsNoWrite(t *testing.T) {
	f := newFakeCluster(t, 3)
	f.start()

	t.Run("steady state", func(t *testing.T) {
		expectWrites(t, f.reconcile())
	})
	t.Run("after a restart", func(t *testing.T) {
		f.restartOperator(testImage)
		expectWrites(t, f.reconcile())
	})
	t.Run("after a change that is not the operator's concern", func(t *testing.T) {
		f.updateDeployment(func(deployment *appsv1.Deployment) {
			deployment.Annotations["team.example.com/owner"] = "somebody"
			deployment.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
			deployment.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy"}}, deployment.Spec.Template.Spec.Containers...)
		})
		f.controlDeployment()
		expectWrites(t, f.reconcile())
	})
	t.Run("when it is being deleted", func(t *testing.T) {
		mc := f.memcached()
		mc.Finalizers = []string{"example.com/somebody-elses"}
		f.update(mc)
		if err := f.api.Delete(t.Context(), f.memcached()); err != nil {
			t.Fatal(err)
		}
		if err := f.api.Delete(t.Context(), f.deployment()); err != nil {
			t.Fatal(err)
		}
		expectWrites(t, f.reconcile())
	})
}

func TestScaling(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()

	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
	expectWrites(t, f.reconcile(), applyDeployment, patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
	f.controlDeployment()
	f.setReady(1, corev1.ConditionTrue)
	f.setReady(2, corev1.ConditionTrue)
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")

	// When scaling down, there is nothing to report until the Deployment's controller has seen it. Then two pods are left over
	// or, as here, gone already. Available stays true all the time.
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(1)) })
	if got := f.reconcile(); got[0] != applyDeployment || slices.Contains(got, patchDeployment) {
		t.Errorf("writes = %q, want the Deployment applied, and none of its fields taken over", got)
	}
	f.controlDeployment()
	f.reconcile()
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
	if got := *f.deployment().Spec.Replicas; got != 1 {
		t.Errorf("the Deployment has %d replicas, want 1", got)
	}
	for _, condition := range f.memcached().Status.Conditions {
		if condition.ObservedGeneration != 3 {
			t.Errorf("%s has observedGeneration %d, want 3", condition.Type, condition.ObservedGeneration)
		}
	}
}

func TestChangingThePortReplacesThePods(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()

	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(22122)) })
	expectWrites(t, f.reconcile(), patchDeployment, applyDeployment, patchStatus)
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=True/RollingOut", "Degraded=False/AsExpected")

	container := f.deployment().Spec.Template.Spec.Containers[0]
	if want := []corev1.ContainerPort{{Name: "memcached", ContainerPort: 22122, Protocol: corev1.ProtocolTCP}}; !cmp.Equal(container.Ports, want) {
		t.Errorf("ports = %v, want %v", container.Ports, want)
	}
	if want := []string{"-p", "22122"}; !slices.Equal(container.Args[:2], want) {
		t.Errorf("args = %q, want them to start with %q", container.Args, want)
	}

	f.controlDeployment()
	f.setReady(0, corev1.ConditionTrue)
	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Converged", "Degraded=False/AsExpected")
}

func TestFallingEdge(t *testing.T) {
	for name, lose := range map[string]func(*fakeCluster){
		"a pod is no longer ready": func(f *fakeCluster) { f.setReady(1, corev1.ConditionFalse) },
		"a pod is gone": func(f *fakeCluster) {
			if err := f.api.Delete(f.t.Context(), &f.pods()[1]); err != nil {
				f.t.Fatal(err)
			}
		},
		"a pod is being deleted": func(f *fakeCluster) {
			pod := f.pods()[1]
			pod.Finalizers = []string{"example.com/hold"}
			f.update(&pod)
			if err := f.api.Delete(f.t.Context(), &pod); err != nil {
				f.t.Fatal(err)
			}
		},
		"the Deployment is gone": func(f *fakeCluster) {
			if err := f.api.Delete(f.t.Context(), f.deployment()); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 3)
			f.start()
			lose(f)
			f.reconcile()
			if got := f.conditions()[0]; got != "Available=False/ReplicasNotReady" {
				t.Errorf("got %s, want Available=False", got)
			}
		})
	}
}

func TestDeletedDeploymentIsCreatedAgain(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	if err := f.api.Delete(t.Context(), f.deployment()); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, f.reconcile(), createDeployment, patchStatus)
}

// A Memcached's Deployment is deleted with it, and the operator may see that before it sees the Memcached's deletion.
func TestDeploymentOfAMemcachedThatIsGone(t *testing.T) {
	for name, remove := range map[string]func(*fakeCluster){
		"deleted": func(f *fakeCluster) {
			if err := f.api.Delete(f.t.Context(), f.memcached()); err != nil {
				f.t.Fatal(err)
			}
		},
		"being deleted": func(f *fakeCluster) {
			mc := f.memcached()
			mc.Finalizers = []string{metav1.FinalizerDeleteDependents}
			f.update(mc)
			if err := f.api.Delete(f.t.Context(), mc); err != nil {
				f.t.Fatal(err)
			}
		},
		"created again under the same name": func(f *fakeCluster) {
			if err := f.api.Delete(f.t.Context(), f.memcached()); err != nil {
				f.t.Fatal(err)
			}
			successor := testMemcached(1)
			successor.UID = "successor-uid"
			if err := f.api.Create(f.t.Context(), successor); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 1)
			f.start()
			f.t = t
			f.stale = f.memcached()
			remove(f)
			if err := f.api.Delete(t.Context(), f.deployment()); err != nil {
				t.Fatal(err)
			}
			expectWrites(t, f.reconcile())
		})
	}
}

func TestTerminatingDeploymentIsWaitedFor(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	f.updateDeployment(func(deployment *appsv1.Deployment) {
		deployment.Finalizers = []string{metav1.FinalizerDeleteDependents}
	})
	if err := f.api.Delete(t.Context(), f.deployment()); err != nil {
		t.Fatal(err)
	}
	f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })

	expectWrites(t, f.reconcile(), patchStatus)
	expectConditions(t, f, "Available=False/DeploymentTerminating", "Progressing=True/DeploymentTerminating", "Degraded=False/AsExpected")
}

func TestNewImageRollsOut(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	f.restartOperator("memcached@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	expectWrites(t, f.reconcile(), applyDeployment, patchStatus)
	if got := f.deployment().Spec.Template.Spec.Containers[0].Image; got != f.reconciler.Image {
		t.Errorf("image = %s, want %s", got, f.reconciler.Image)
	}
}

// The API server shows the operator's own writes at once, but the operator's cache does not.
func TestStaleCache(t *testing.T) {
	t.Run("the status was written", func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.stale = f.memcached()
		expectWrites(t, f.reconcile(), createDeployment, patchStatus)
		first := f.memcached().Status.Conditions[0].LastTransitionTime

		f.controlDeployment()
		f.setReady(0, corev1.ConditionTrue)
		expectWrites(t, f.reconcile(), patchStatus)
		f.stale = f.memcached()
		f.setReady(0, corev1.ConditionFalse)
		expectWrites(t, f.reconcile(), patchStatus)
		expectWrites(t, f.reconcile())
		if f.memcached().Status.Conditions[0].LastTransitionTime.Before(&first) {
			t.Error("Available goes back in time")
		}
	})
	t.Run("the Deployment was created", func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.noDeployment = true
		expectWrites(t, f.reconcile(), createDeployment, patchStatus)
	})
	t.Run("the Deployment was applied", func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		f.noDeployment = true
		expectWrites(t, f.reconcile())
	})
	t.Run("the status was changed by somebody else", func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		mc := f.memcached()
		mc.Status.Nodes = []string{"no-such-pod"}
		if err := f.api.Status().Update(t.Context(), mc); err != nil {
			t.Fatal(err)
		}
		expectWrites(t, f.reconcile(), patchStatus)
	})
}

// The records of an earlier Memcached with the same name do not count.
func TestRecreatedMemcached(t *testing.T) {
	f := newFakeCluster(t, 1)
	f.start()
	for _, object := range []client.Object{f.memcached(), f.deployment(), &f.pods()[0]} {
		if err := f.api.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	successor := testMemcached(1)
	successor.UID = "successor-uid"
	if err := f.api.Create(t.Context(), successor); err != nil {
		t.Fatal(err)
	}
	expectWrites(t, f.reconcile(), createDeployment, patchStatus)
	expectConditions(t, f, "Available=False/ReplicasNotReady", "Progressing=True/StartingReplicas", "Degraded=False/AsExpected")
}

// Whatever write fails, before or after it took effect, and whether or not the operator restarts, the result is the same: no
// status is ever untrue (see checkTruth), and then there is nothing left to write.
func TestEveryWriteMayFail(t *testing.T) {
	runAll := func(f *fakeCluster) {
		settle := func() {
			for range 10 {
				if f.reconcileOnce() == nil {
					break
				}
			}
			f.reconcile()
		}
		settle()
		f.controlDeployment()
		for i := range 2 {
			f.setReady(i, corev1.ConditionTrue)
			settle()
		}
		f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size, *spec.ContainerPort = 1, 22122 })
		settle()
		f.controlDeployment()
		f.setReady(0, corev1.ConditionTrue)
		settle()
	}
	healthy := newFakeCluster(t, 2)
	runAll(healthy)
	total := len(healthy.writes)
	if total < 8 {
		t.Fatalf("there are only %d writes: %q", total, healthy.writes)
	}

	for i := range total {
		for _, after := range []bool{false, true} {
			for _, crash := range []bool{false, true} {
				t.Run(fmt.Sprintf("write %d, after=%t, crash=%t", i, after, crash), func(t *testing.T) {
					t.Parallel()
					f := newFakeCluster(t, 2)
					calls := 0
					f.fail = func(_ string, now bool) error {
						if now != after {
							return nil
						}
						calls++
						if calls-1 != i {
							return nil
						}
						if crash {
							f.restartOperator(testImage)
						}
						return errors.New("connection reset by peer")
					}
					runAll(f)
					if calls <= i {
						t.Fatalf("write %d never happened", i)
					}
					if diff := cmp.Diff(withoutTimes(healthy.memcached().Status), withoutTimes(f.memcached().Status)); diff != "" {
						t.Errorf("another status than without the failure (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(healthy.deployment().Spec, f.deployment().Spec); diff != "" {
						t.Errorf("another Deployment than without the failure (-want +got):\n%s", diff)
					}
					expectWrites(t, f.reconcile())
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

func expectConditions(t *testing.T, f *fakeCluster, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.conditions()); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
