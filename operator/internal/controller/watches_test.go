package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestIsSpecChange(t *testing.T) {
	memcached := func(uid types.UID, generation int64, resourceVersion string) *cachev1alpha1.Memcached {
		return &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation, ResourceVersion: resourceVersion}}
	}
	for name, test := range map[string]struct {
		after *cachev1alpha1.Memcached
		want  bool
	}{
		"of the status":          {memcached("first", 1, "2"), false},
		"of the spec":            {memcached("first", 2, "2"), true},
		"another of that name":   {memcached("second", 1, "2"), true},
		"another, changed twice": {memcached("second", 3, "4"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isSpecChange(event.UpdateEvent{ObjectOld: memcached("first", 1, "1"), ObjectNew: test.after}); got != test.want {
				t.Errorf("isSpecChange = %t, want %t", got, test.want)
			}
		})
	}
}

func TestIsRelevantChange(t *testing.T) {
	deployment := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		result := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Labels: map[string]string{"a": "b"}},
			Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		}
		change(result)
		return result
	}
	replicaSet := func(version, owner string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: version, OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner)}},
		}}
	}
	before := deployment(func(*appsv1.Deployment) {})
	for name, test := range map[string]struct {
		before, after client.Object
		want          bool
	}{
		"nothing that is cached":     {before, deployment(func(d *appsv1.Deployment) { d.ResourceVersion = "2" }), false},
		"a label":                    {before, deployment(func(d *appsv1.Deployment) { d.Labels = nil }), true},
		"the size":                   {before, deployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) }), true},
		"one pod more that is ready": {before, deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }), false},
		"the last pod that is ready": {before, deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 2 }), true},
		"one pod more than the size": {
			deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 2 }),
			deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 3 }), false,
		},
		"fewer than the size": {
			deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 3 }),
			deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }), true,
		},
		"all observed":       {before, deployment(func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }), true},
		"the first revision": {before, deployment(func(d *appsv1.Deployment) { d.Annotations = map[string]string{annotationRevision: "1"} }), false},
		"another revision": {
			deployment(func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }),
			deployment(func(d *appsv1.Deployment) {
				d.Status.ObservedGeneration, d.Annotations = 1, map[string]string{annotationRevision: "2"}
			}), true,
		},
		"a ReplicaSet's status":       {replicaSet("1", "a"), replicaSet("2", "a"), false},
		"a ReplicaSet's owner":        {replicaSet("1", "a"), replicaSet("2", "b"), true},
		"an object of any other kind": {&corev1.Secret{}, &corev1.Secret{Data: map[string][]byte{"a": nil}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isRelevantChange(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
				t.Errorf("isRelevantChange = %t, want %t", got, test.want)
			}
		})
	}
	if before.ResourceVersion != "1" {
		t.Error("it changes what is cached")
	}
}

func TestIsRelevantUpdate(t *testing.T) {
	for name, test := range map[string]struct {
		before, after corev1.Pod
		want          bool
	}{
		"scheduled":                {pod("a"), pod("a", waiting("ContainerCreating")), false},
		"runs":                     {pod("a", waiting("ContainerCreating")), pod("a", running, notReady), false},
		"ready":                    {pod("a", running, notReady), pod("a", running, ready), true},
		"no longer ready":          {pod("a", ready), pod("a", notReady), true},
		"going":                    {pod("a", ready), pod("a", ready, deleting), true},
		"failed":                   {pod("a"), pod("a", phase(corev1.PodFailed)), true},
		"fails":                    {pod("a"), pod("a", waiting("ErrImagePull")), true},
		"fails in the same way":    {pod("a", waiting("ErrImagePull")), pod("a", waiting("ImagePullBackOff")), false},
		"fails no longer":          {pod("a", unschedulable), pod("a"), true},
		"of another configuration": {pod("a", ready), pod("a", ready, outdated), true},
		"of another ReplicaSet":    {pod("a", ready), pod("a", ready, ownedByForeign), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isRelevantUpdate(event.UpdateEvent{ObjectOld: &test.before, ObjectNew: &test.after}); got != test.want {
				t.Errorf("isRelevantUpdate = %t, want %t", got, test.want)
			}
		})
	}
}

func TestIsObserved(t *testing.T) {
	deployment := &appsv1.Deployment{}
	if isObserved(event.CreateEvent{Object: deployment}) {
		t.Error("a Deployment without a status wakes the reconciler up")
	}
	deployment.Status.ObservedGeneration = 1
	if !isObserved(event.CreateEvent{Object: deployment}) {
		t.Error("a Deployment with a status does not wake the reconciler up")
	}
}

// delays is a queue that records how long each request has to wait.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added []time.Duration
}

func (d *delays) Add(reconcile.Request) { d.added = append(d.added, 0) }
func (d *delays) AddAfter(_ reconcile.Request, duration time.Duration) {
	d.added = append(d.added, duration)
}

func TestPodHandler(t *testing.T) {
	for name, test := range map[string]struct {
		before, after corev1.Pod
		want          time.Duration
	}{
		"ready":                 {pod("a", running, notReady), pod("a", running, ready), readyDelay},
		"ready after a failure": {pod("a", waiting("ErrImagePull")), pod("a", running, ready), 0},
		"no longer ready":       {pod("a", ready), pod("a", notReady), 0},
		"going":                 {pod("a", ready), pod("a", ready, deleting), 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pod := range []*corev1.Pod{&test.before, &test.after} {
				pod.Labels = map[string]string{labelInstance: testName}
			}
			queue := &delays{}
			podHandler{handler.EnqueueRequestsFromMapFunc(memcachedOf), readyDelay}.Update(t.Context(), event.UpdateEvent{ObjectOld: &test.before, ObjectNew: &test.after}, queue)
			if diff := cmp.Diff([]time.Duration{test.want}, queue.added); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsRelevantCreation(t *testing.T) {
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"just created":   {pod("a"), false},
		"not ready yet":  {pod("a", running, notReady), false},
		"ready":          {pod("a", running, ready), true},
		"fails":          {pod("a", waiting("ErrImagePull")), true},
		"does not fit":   {pod("a", unschedulable), true},
		"already ending": {pod("a", ready, deleting), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isRelevantCreation(event.CreateEvent{Object: &test.pod}); got != test.want {
				t.Errorf("isRelevantCreation = %t, want %t", got, test.want)
			}
		})
	}
}

func TestIsRelevantDeletion(t *testing.T) {
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"after it was going":        {pod("a", ready, deleting), false},
		"after it had failed":       {pod("a", phase(corev1.PodFailed)), false},
		"without a sign of its end": {pod("a", ready), true},
		"before it was ever ready":  {pod("a"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isRelevantDeletion(event.DeleteEvent{Object: &test.pod}); got != test.want {
				t.Errorf("isRelevantDeletion = %t, want %t", got, test.want)
			}
		})
	}
	if !isRelevantDeletion(event.DeleteEvent{Object: &appsv1.Deployment{}}) {
		t.Error("the deletion of another object wakes the reconciler up")
	}
}

func TestMemcachedOf(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "any"}}
	if got := memcachedOf(t.Context(), pod); got != nil {
		t.Errorf("requests for a pod without labels = %v, want none", got)
	}
	pod.Labels = desiredDeployment(testMemcached(1), testImage).Spec.Template.Labels
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: testNamespace, Name: testName}}}
	if diff := cmp.Diff(want, memcachedOf(t.Context(), trim(t, trimPod, pod))); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A change of the status counts if the Memcached can't be decoded before or after it.
func TestIsRelevantMemcached(t *testing.T) {
	raw := func(time string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(1)},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": "Available", "lastTransitionTime": time}}},
		}}
	}
	const good, better, bad = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-01t00:00:00z"
	for _, test := range []struct {
		before, after string
		want          bool
	}{{good, better, false}, {good, bad, true}, {bad, good, true}, {bad, bad, false}} {
		if got := new(MemcachedReconciler).isRelevantMemcached(event.UpdateEvent{ObjectOld: raw(test.before), ObjectNew: raw(test.after)}); got != test.want {
			t.Errorf("from %s to %s: %t, want %t", test.before, test.after, got, test.want)
		}
	}
	resized := raw(good)
	resized.SetGeneration(2)
	if !new(MemcachedReconciler).isRelevantMemcached(event.UpdateEvent{ObjectOld: raw(good), ObjectNew: resized}) {
		t.Error("another spec does not count")
	}
}
