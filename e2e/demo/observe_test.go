package demo_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/demo"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// TestObserve draws a Memcached beside what belongs to another.
func TestObserve(t *testing.T) {
	memcached := sample(3, 1)
	state := observe(t, memcached,
		[]*appsv1.Deployment{
			deploymentOf("mc", memcached.UID, new(int32(3)), 1),
			deploymentOf("other", "another's", new(int32(5)), 5),
		},
		[]*corev1.Pod{
			podOf("z-pending", memcached.UID, pending),
			podOf("y-ready", memcached.UID, ready, on("node-1")),
			podOf("x-going", memcached.UID, ready, on("node-1"), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }),
			podOf("w-pulling", memcached.UID, waiting("ImagePullBackOff"), on("node-1")),
			podOf("v-failed", memcached.UID, on("node-1"), func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "Error"},
				}}}
			}),
			podOf("u-evicted", memcached.UID, on("node-1"), func(p *corev1.Pod) {
				p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
			}),
			podOf("a-foreign", "another's", ready),
		})
	want := `Memcached memcached-sample   size 3
└─ Deployment mc             1/3 ready
   ├─ Pod u-evicted          Evicted on node-1
   ├─ Pod v-failed           Error on node-1
   ├─ Pod w-pulling          ImagePullBackOff on node-1
   ├─ Pod x-going            Terminating on node-1
   ├─ Pod y-ready            Ready on node-1
   └─ Pod z-pending          Pending

Conditions
  none yet
`
	if diff := cmp.Diff(want, state.Picture(demo.Style{})); diff != "" {
		t.Errorf("the picture of what Observe returns (-want +got):\n%s", diff)
	}
}

// TestObserveDefaults leaves out fields that the API server defaults to 1.
func TestObserveDefaults(t *testing.T) {
	memcached := sample(3, 1)
	memcached.Spec.Size = nil
	state := observe(t, memcached, []*appsv1.Deployment{deploymentOf("mc", memcached.UID, nil, 0)}, nil)
	want := `Memcached memcached-sample   size 1
└─ Deployment mc             0/1 ready

Conditions
  none yet
`
	if diff := cmp.Diff(want, state.Picture(demo.Style{})); diff != "" {
		t.Errorf("the picture (-want +got):\n%s", diff)
	}
}

func TestObserveNothing(t *testing.T) {
	got := observe(t, nil, []*appsv1.Deployment{deploymentOf("mc", "gone", new(int32(1)), 1)}, nil)
	if diff := cmp.Diff(demo.State{}, got); diff != "" {
		t.Errorf("what is left of a deleted Memcached is drawn (-want +got):\n%s", diff)
	}
}

// observe calls Observe for objects of an API server.
func observe(t *testing.T, memcached *cachev1alpha1.Memcached, deployments []*appsv1.Deployment, pods []*corev1.Pod) demo.State {
	t.Helper()
	var objects []*unstructured.Unstructured
	add := func(kind string, object runtime.Object) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		content["kind"] = kind
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	if memcached != nil {
		add("Memcached", memcached)
	}
	for _, d := range deployments {
		add("Deployment", d)
	}
	for _, p := range pods {
		add("Pod", p)
	}
	return demo.Observe(types.NamespacedName{Namespace: "default", Name: "memcached-sample"}, slices.Values(objects))
}
