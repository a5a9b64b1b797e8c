package controller

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

const image = "memcached:test"

// memcachedOfSize is a Memcached as the API server returns it: with every default filled in.
func memcachedOfSize(size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache", UID: "1234"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size), ContainerPort: new(int32(11211))},
	}
}

// newReconciler returns a reconciler with a fake API server.
func newReconciler(t *testing.T, objects ...client.Object) *MemcachedReconciler {
	t.Helper()
	g, scheme := NewWithT(t), runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(cachev1alpha1.AddToScheme(scheme)).To(Succeed())
	return &MemcachedReconciler{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithStatusSubresource(&cachev1alpha1.Memcached{}).Build(),
		Recorder: events.NewFakeRecorder(10),
		Image:    image,
	}
}

func TestReconcileCreatesTheDeployment(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(3)
	reconciler := newReconciler(t, mc)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(mc)}

	g.Expect(reconciler.Reconcile(t.Context(), request)).To(BeZero())

	deployment := &appsv1.Deployment{}
	g.Expect(reconciler.Get(t.Context(), request.NamespacedName, deployment)).To(Succeed())
	g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	g.Expect(metav1.IsControlledBy(deployment, mc)).To(BeTrue())
	g.Expect(reconciler.Get(t.Context(), request.NamespacedName, mc)).To(Succeed())
	g.Expect(mc.Status.Conditions).To(HaveLen(3))
}

func TestReconcileOfWhatIsGoneIsNoError(t *testing.T) {
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "gone"}}
	NewWithT(t).Expect(newReconciler(t).Reconcile(t.Context(), request)).To(BeZero())
}

func TestMemcachedListensOnTheContainerPort(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	mc.Spec.ContainerPort = new(int32(12345))
	container := desiredDeployment(mc, image).Spec.Template.Spec.Containers[0]
	g.Expect(strings.Join(container.Args, " ")).To(MatchRegexp(`(^| )-p 12345( |$)`))
	g.Expect(container.Ports[0].ContainerPort).To(HaveValue(BeEquivalentTo(12345)))
}
