package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the one that the fake client uses
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	acclientgo "k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	accache "github.com/example/operator-testbed/operator/api/v1alpha1/applyconfiguration"
)

const (
	testImage     = "registry.example.com:5000/memcached:1.6"
	testNamespace = "team"
	testName      = "sessions"
	testRecheck   = 7 * time.Second
	testDeadline  = time.Hour
)

// fakeCluster is a cluster without an API server: a fake client, and functions that play a user, the Deployment's controller and the
// kubelets. It records what the operator writes.
type fakeCluster struct {
	t *testing.T
	// api holds the objects. The operator reads and writes them through operatorCalls.
	api client.WithWatch
	// stale, if not nil, is what the operator's cache returns instead of the current Memcached.
	stale *cachev1alpha1.Memcached
	// noDeployment makes the operator's cache return no Deployment.
	noDeployment bool
	// writes are the operator's writes, in order, such as "apply Deployment".
	writes []string
	// fail, if not nil, is called before and after each write of the operator. An error from the first call prevents the write;
	// an error from the second one is a lost response.
	fail func(write string, after bool) error

	// recheck is the delay after which the operator last asked to be called again.
	recheck time.Duration
	// afterStatus is called after each write of the status.
	afterStatus func()
	// events are the operator's events, in order, such as "Warning NameTaken".
	events []string
	// unstored is called with an event that says what the stored status does not. It fails the test if nil.
	unstored func(event string)

	reconciler *MemcachedReconciler
}

// eventRecorder records the events of the operator in a fakeCluster.
type eventRecorder fakeCluster

// Eventf records an event. Whatever a test is about, the API server has stored the status that the event announces.
func (r *eventRecorder) Eventf(regarding, _ runtime.Object, eventType, reason, _, format string, args ...any) {
	event := eventType + " " + reason
	r.events = append(r.events, event)
	if reason == cachev1alpha1.ReasonUndecodable {
		return // there is no status then
	}
	mc, reference := &cachev1alpha1.Memcached{}, regarding.(*corev1.ObjectReference)
	err := r.api.Get(r.t.Context(), client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, mc)
	degraded := degradedOf(mc.Status)
	if degraded.Status == metav1.ConditionFalse {
		degraded.Reason = cachev1alpha1.ReasonRecovered
	}
	if note := fmt.Sprintf(format, args...); err != nil || mc.UID != reference.UID || degraded.Reason != reason || degraded.Message != note {
		event = fmt.Sprintf("the event %q %q, while the stored condition is %s %s %q (%v)", event, note, degraded.Status, degraded.Reason, degraded.Message, err)
		if r.unstored == nil {
			r.t.Error(event)
			return
		}
		r.unstored(event)
	}
}

// testScheme has only the types that the tests use, because the fake client goes through all of them for each write.
var testScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, eventsv1.AddToScheme, rbacv1.AddToScheme, authorizationv1.AddToScheme, cachev1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
})

// typeConverters contain the rules by which server-side apply merges the types of Kubernetes and ours. They are slow to create.
var typeConverters = sync.OnceValue(func() []managedfields.TypeConverter {
	clientGo := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(clientGo))
	return []managedfields.TypeConverter{acclientgo.NewTypeConverter(clientGo), accache.NewTypeConverter(testScheme())}
})

// restMapper has the kinds of testScheme. It is slow to create, too.
var restMapper = sync.OnceValue(func() meta.RESTMapper { return testrestmapper.TestOnlyStaticRESTMapper(testScheme()) })

// newFakeCluster returns a cluster with one Memcached of that size, which has not been reconciled yet.
func newFakeCluster(t *testing.T, size int32) *fakeCluster {
	t.Helper()
	builder := fake.NewClientBuilder().
		WithScheme(testScheme()).
		WithRESTMapper(restMapper()).
		WithTypeConverters(typeConverters()...).
		WithGlobalResourceVersionCounter().
		WithReturnManagedFields().
		WithStatusSubresource(&cachev1alpha1.Memcached{}).
		WithObjects(testMemcached(size))
	for _, object := range indexed() {
		builder.WithIndex(object, memcachedUIDIndex, memcachedUID)
	}
	builder.WithIndex(&cachev1alpha1.Memcached{}, uidIndex, uidOf)
	f := &fakeCluster{t: t, api: builder.Build()}
	f.afterStatus = f.checkTruth
	f.restartOperator(testImage)
	return f
}

// testMemcached is a Memcached as the API server returns it.
func testMemcached(size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testName, UID: "memcached-uid", Generation: 1},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size), ContainerPort: new(int32(11211))},
	}
}

// restartOperator starts an operator without records of earlier writes, with that image.
func (f *fakeCluster) restartOperator(image string) {
	f.reconciler = &MemcachedReconciler{
		Client:    interceptor.NewClient(f.api, f.operatorCalls()),
		APIReader: f.api,
		Image:     image,

		RecheckInterval:  testRecheck,
		ProgressDeadline: testDeadline,
		Recorder:         (*eventRecorder)(f),
	}
}

// operatorCalls shows the operator what its cache has, counts its writes, and adds the behavior of the API server that the fake
// client lacks.
func (f *fakeCluster) operatorCalls() interceptor.Funcs {
	write := func(name string, do func() error) error {
		if f.fail != nil {
			if err := f.fail(name, false); err != nil {
				return err
			}
		}
		f.writes = append(f.writes, name)
		if err := do(); err != nil {
			return err
		}
		if f.fail != nil {
			return f.fail(name, true)
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			switch object := object.(type) {
			case *cachev1alpha1.Memcached:
				if f.stale != nil {
					f.stale.DeepCopyInto(object)
					return nil
				}
			case *appsv1.Deployment:
				if f.noDeployment {
					return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
				}
			}
			return c.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return write("create "+kindOf(object), func() error {
				object.SetUID(types.UID(fmt.Sprintf("deployment-uid-%d", len(f.writes))))
				object.SetGeneration(1)
				return c.Create(ctx, object, options...)
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return write("update "+kindOf(object), func() error { return c.Update(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return write("delete "+kindOf(object), func() error { return c.Delete(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return write("patch "+kindOf(object), func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return write("apply "+kindOf(object), func() error {
				before := f.deployment()
				if err := c.Apply(ctx, object, options...); err != nil {
					return err
				}
				if after := f.deployment(); !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
					after.Generation++
					return c.Update(ctx, after)
				}
				return nil
			})
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return write("patch "+kindOf(object)+" "+subResource, func() error {
				if err := c.SubResource(subResource).Patch(ctx, object, patch, options...); err != nil {
					return testFailed(err)
				}
				f.afterStatus()
				return nil
			})
		},
	}
}

// testFailed turns the fake client's error for a failed test in a JSON patch into the API server's.
func testFailed(err error) error {
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return err
}

// kindOf returns the kind of an object or an apply configuration.
func kindOf(object any) string {
	return strings.TrimSuffix(reflect.TypeOf(object).Elem().Name(), "ApplyConfiguration")
}

// checkTruth fails the test if the status reports more than the pods show.
func (f *fakeCluster) checkTruth() {
	f.t.Helper()
	mc := f.memcached()
	setDefaults(&mc.Spec)
	available := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionAvailable)
	if available == nil || available.Status != metav1.ConditionTrue {
		return
	}
	ready := 0
	for _, pod := range f.pods() {
		if pod.DeletionTimestamp == nil && isReady(pod) {
			ready++
		}
	}
	if counted := int(f.deployment().Status.ReadyReplicas); min(ready, counted) < int(*mc.Spec.Size) {
		f.t.Errorf("Available=True with %d of %d pods ready, %d of them counted by the Deployment", ready, *mc.Spec.Size, counted)
	}
}

// reconcile runs the operator until it writes nothing more, and returns what it wrote.
func (f *fakeCluster) reconcile() []string {
	f.t.Helper()
	first := len(f.writes)
	for range 20 {
		before := len(f.writes)
		if err := f.reconcileOnce(); err != nil {
			f.t.Fatalf("reconciling: %v", err)
		}
		if len(f.writes) == before {
			return slices.Clone(f.writes[first:])
		}
	}
	f.t.Fatalf("the operator keeps writing: %q", f.writes[first:])
	return nil
}

func (f *fakeCluster) reconcileOnce() error {
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: testNamespace, Name: testName}}
	result, err := f.reconciler.Reconcile(f.t.Context(), request)
	f.recheck = result.RequeueAfter
	return err
}

func (f *fakeCluster) memcached() *cachev1alpha1.Memcached {
	f.t.Helper()
	mc := &cachev1alpha1.Memcached{}
	f.get(mc)
	return mc
}

func (f *fakeCluster) deployment() *appsv1.Deployment {
	f.t.Helper()
	deployment := &appsv1.Deployment{}
	f.get(deployment)
	return deployment
}

func (f *fakeCluster) get(object client.Object) {
	f.t.Helper()
	if err := f.api.Get(f.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: testName}, object); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeCluster) pods() []corev1.Pod {
	f.t.Helper()
	pods := &corev1.PodList{}
	if err := f.api.List(f.t.Context(), pods, client.InNamespace(testNamespace)); err != nil {
		f.t.Fatal(err)
	}
	return pods.Items
}

// setSpec changes the Memcached as a user does.
func (f *fakeCluster) setSpec(change func(*cachev1alpha1.MemcachedSpec)) {
	f.t.Helper()
	mc := f.memcached()
	change(&mc.Spec)
	mc.Generation++
	f.update(mc)
}

// updateDeployment changes the Deployment as somebody else does.
func (f *fakeCluster) updateDeployment(change func(*appsv1.Deployment)) {
	f.t.Helper()
	deployment := f.deployment()
	change(deployment)
	deployment.Generation++
	f.update(deployment)
}

func (f *fakeCluster) update(object client.Object) {
	f.t.Helper()
	if err := f.api.Update(f.t.Context(), object, client.FieldOwner("somebody-else")); err != nil {
		f.t.Fatal(err)
	}
}

// controlDeployment plays the Deployment's controller: afterwards there is one ReplicaSet, of the current template, and as many
// of its pods as the Deployment asks for. Pods that are new are not ready.
func (f *fakeCluster) controlDeployment() {
	f.t.Helper()
	deployment := f.deployment()
	template := deployment.Spec.Template
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace,
		Name:      testName + "-" + template.Labels[cachev1alpha1.LabelTemplateHash],
		Labels:    template.Labels,
	}}
	replicaSet.UID = types.UID("uid of " + replicaSet.Name)
	replicaSet.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	if err := f.api.Create(f.t.Context(), replicaSet); err != nil && !apierrors.IsAlreadyExists(err) {
		f.t.Fatal(err)
	}
	wanted := map[string]bool{}
	for i := range *deployment.Spec.Replicas {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace,
			Name:      fmt.Sprintf("%s-%d", replicaSet.Name, i),
			Labels:    template.Labels,
		}}
		pod.UID = types.UID("uid of " + pod.Name)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		wanted[pod.Name] = true
		if err := f.api.Create(f.t.Context(), pod); err != nil && !apierrors.IsAlreadyExists(err) {
			f.t.Fatal(err)
		}
	}
	for _, pod := range f.pods() {
		if !wanted[pod.Name] {
			if err := f.api.Delete(f.t.Context(), &pod); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	deployment.Status.ObservedGeneration = deployment.Generation
	deployment.Status.ReadyReplicas = countReady(f.pods())
	if err := f.api.Status().Update(f.t.Context(), deployment); err != nil {
		f.t.Fatal(err)
	}
}

// setReady plays the kubelets, and the Deployment's controller, which counts: it makes the i-th pod, ordered by name, ready or
// not.
func (f *fakeCluster) setReady(i int, ready corev1.ConditionStatus) {
	f.t.Helper()
	pod := f.pods()[i]
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	if err := f.api.Status().Update(f.t.Context(), &pod); err != nil {
		f.t.Fatal(err)
	}
	deployment := f.deployment()
	deployment.Status.ReadyReplicas = countReady(f.pods())
	if err := f.api.Status().Update(f.t.Context(), deployment); err != nil {
		f.t.Fatal(err)
	}
}

// start brings the Memcached from creation to Available, one pod after the other.
func (f *fakeCluster) start() {
	f.t.Helper()
	f.reconcile()
	f.controlDeployment()
	f.reconcile()
	for i := range *f.memcached().Spec.Size {
		f.setReady(int(i), corev1.ConditionTrue)
		f.reconcile()
	}
}

// conditions returns the conditions of the Memcached in the form "Available=True/AllReplicasReady".
func (f *fakeCluster) conditions() []string {
	f.t.Helper()
	return conditionStrings(f.memcached().Status)
}

func conditionStrings(status cachev1alpha1.MemcachedStatus) []string {
	var result []string
	for _, condition := range status.Conditions {
		result = append(result, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status, condition.Reason))
	}
	return result
}
