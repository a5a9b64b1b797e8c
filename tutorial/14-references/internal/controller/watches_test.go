package controller

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestPodsWakeTheirMemcached(t *testing.T) {
	g := NewWithT(t)
	pod := readyPod("a")
	g.Expect(memcachedOf(t.Context(), &pod)).To(BeEmpty(), "a pod without the annotation")
	pod.Namespace, pod.Annotations = "default", map[string]string{annotationMemcached: "cache"}
	g.Expect(memcachedOf(t.Context(), &pod)).To(HaveExactElements(HaveField("NamespacedName.String()", "default/cache")))
}

func TestOnlyWhatMattersWakesUp(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	woken := whenUpdated(memcachedDiffers)

	same := mc.DeepCopy()
	same.Annotations, same.ResourceVersion = map[string]string{"note": "new"}, "2"
	g.Expect(woken.Update(event.UpdateEvent{ObjectOld: mc, ObjectNew: same})).To(BeFalse(), "an annotation")
	spec := mc.DeepCopy()
	spec.Generation++
	g.Expect(woken.Update(event.UpdateEvent{ObjectOld: mc, ObjectNew: spec})).To(BeTrue(), "the spec")
	status := mc.DeepCopy()
	status.Status.Nodes = []string{"a"}
	g.Expect(woken.Update(event.UpdateEvent{ObjectOld: mc, ObjectNew: status})).To(BeTrue(), "the status")
	g.Expect(woken.Create(event.CreateEvent{Object: mc})).To(BeTrue())

	pod, labeled, failing := readyPod("a"), readyPod("a"), readyPod("a")
	labeled.Labels = map[string]string{"note": "new"}
	failing.Status.Conditions[0].Status = corev1.ConditionFalse
	terminating := readyPod("a")
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	g.Expect(podDiffers(&pod, &labeled)).To(BeFalse())
	g.Expect(podDiffers(&pod, &failing)).To(BeTrue())
	g.Expect(podDiffers(&pod, &terminating)).To(BeTrue())
}
