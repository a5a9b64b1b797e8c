package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestIsAnotherSpec(t *testing.T) {
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
			if got := isAnotherSpec(event.UpdateEvent{ObjectOld: memcached("first", 1, "1"), ObjectNew: test.after}); got != test.want {
				t.Errorf("isAnotherSpec = %t, want %t", got, test.want)
			}
		})
	}
}

func TestMemcachedOf(t *testing.T) {
	w := newWorld(t, 1)
	ours := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: testNamespace, Name: testName}}}
	for _, test := range []struct {
		name, namespace string
		labels          map[string]string
		want            []reconcile.Request
	}{
		{"labeled", testNamespace, map[string]string{cachev1alpha1.LabelMemcachedUID: "memcached-uid"}, ours},
		{"of a Memcached that is gone", testNamespace, map[string]string{cachev1alpha1.LabelMemcachedUID: "predecessor-uid"}, nil},
		{"in another namespace", "other", map[string]string{cachev1alpha1.LabelMemcachedUID: "memcached-uid"}, nil},
		{"not labeled", testNamespace, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "any", Labels: test.labels}}
			if diff := cmp.Diff(test.want, w.reconciler.memcachedOf(t.Context(), pod)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
