package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/13-testing/api/v1alpha1"
)

const image = "memcached:test"

// memcachedOfSize is a Memcached as the API server returns it: with every default filled in.
func memcachedOfSize(size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache", UID: "1234"},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size), ContainerPort: new(int32(11211))},
	}
}

// newReconciler returns a reconciler with a fake client that holds these objects.
func newReconciler(t *testing.T, objects ...client.Object) *MemcachedReconciler {
	t.Helper()
	return newInterceptedReconciler(t, interceptor.Funcs{}, objects...)
}

// newInterceptedReconciler returns a reconciler with a fake client that holds these objects, and calls the functions instead of its own.
func newInterceptedReconciler(t *testing.T, instead interceptor.Funcs, objects ...client.Object) *MemcachedReconciler {
	t.Helper()
	g, scheme := NewWithT(t), runtime.NewScheme()
	// Only what the operator uses: the fake client goes through all kinds of its scheme whenever it is built.
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, cachev1alpha1.AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	return &MemcachedReconciler{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
			WithStatusSubresource(&cachev1alpha1.Memcached{}).WithInterceptorFuncs(instead).Build(),
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

// requestFor returns the request with which the manager calls Reconcile for mc.
func requestFor(mc *cachev1alpha1.Memcached) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(mc)}
}

// If Reconcile returns the error, the manager calls it again.
func TestStatusThatCannotBeWritten(t *testing.T) {
	mc := memcachedOfSize(1)
	refuse := interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return errors.New("the API server is busy")
	}}
	_, err := newInterceptedReconciler(t, refuse, mc).Reconcile(t.Context(), requestFor(mc))
	NewWithT(t).Expect(err).To(MatchError("the API server is busy"))
}

// A status that has not changed is not written.
func TestStatusIsWrittenOnce(t *testing.T) {
	g := NewWithT(t)
	mc, written := memcachedOfSize(1), 0
	count := interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		written++
		return c.SubResource(name).Patch(ctx, obj, patch, options...)
	}}
	reconciler := newInterceptedReconciler(t, count, mc)
	for range 3 {
		g.Expect(reconciler.Reconcile(t.Context(), requestFor(mc))).To(BeZero())
	}
	g.Expect(written).To(Equal(1))
}

// The fake client stores objects. No controller acts on them, and it knows neither the defaults nor the list maps of the CRD.
func TestWhatTheFakeClientLacks(t *testing.T) {
	g := NewWithT(t)
	mc := memcachedOfSize(1)
	reconciler := newReconciler(t, mc)
	g.Expect(reconciler.Reconcile(t.Context(), requestFor(mc))).To(BeZero())
	g.Expect(reconciler.Delete(t.Context(), mc)).To(Succeed())
	g.Expect(reconciler.Get(t.Context(), client.ObjectKeyFromObject(mc), &appsv1.Deployment{})).To(Succeed(), "no garbage collector deletes it")

	bare := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bare"}}
	g.Expect(reconciler.Create(t.Context(), bare)).To(Succeed())
	g.Expect(bare.Spec.Size).To(BeNil(), "the CRD's default is 1")
	g.Expect(bare.Generation).To(BeZero(), "the API server starts at 1")

	for _, writer := range []string{"one", "another"} {
		status := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": writer}}}}}
		status.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
		status.SetNamespace(bare.Namespace)
		status.SetName(bare.Name)
		apply := client.ApplyConfigurationFromUnstructured(status)
		g.Expect(reconciler.Status().Apply(t.Context(), apply, client.FieldOwner(writer), client.ForceOwnership)).To(Succeed())
	}
	g.Expect(reconciler.Get(t.Context(), client.ObjectKeyFromObject(bare), bare)).To(Succeed())
	g.Expect(bare.Status.Conditions).To(HaveLen(1), "an API server keeps the condition of each writer")
}
