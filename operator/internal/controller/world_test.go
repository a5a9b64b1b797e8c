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

// world is a cluster without an API server: a fake client, and functions that play a user, the Deployment's controller and the
// kubelets. It records what the operator writes.
type world struct {
	t *testing.T
	// cluster holds the real objects, which the players change. The operator sees them through operatorClient.
	cluster client.WithWatch
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

	reconciler *MemcachedReconciler
}

// worldRecorder records the events of the operator in a world.
type worldRecorder world

// Eventf records an event.
func (r *worldRecorder) Eventf(_, _ runtime.Object, eventType, reason, _, _ string, _ ...any) {
	r.events = append(r.events, eventType+" "+reason)
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

// newWorld returns a world with one Memcached of that size, which has not been reconciled yet.
func newWorld(t *testing.T, size int32) *world {
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
	w := &world{t: t, cluster: builder.Build()}
	w.afterStatus = w.checkTruth
	w.restartOperator(testImage)
	return w
}

// testMemcached is a Memcached as the API server returns it.
func testMemcached(size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testName, UID: "memcached-uid", Generation: 1},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size), ContainerPort: new(int32(11211))},
	}
}

// restartOperator starts an operator without records of earlier writes, with that image.
func (w *world) restartOperator(image string) {
	w.reconciler = &MemcachedReconciler{
		Client:    interceptor.NewClient(w.cluster, w.operatorCalls()),
		APIReader: w.cluster,
		Image:     image,

		RecheckInterval:  testRecheck,
		ProgressDeadline: testDeadline,
		Recorder:         (*worldRecorder)(w),
	}
}

// operatorCalls shows the operator what its cache has, counts its writes, and adds the behavior of the API server that the fake
// client lacks.
func (w *world) operatorCalls() interceptor.Funcs {
	write := func(name string, do func() error) error {
		if w.fail != nil {
			if err := w.fail(name, false); err != nil {
				return err
			}
		}
		w.writes = append(w.writes, name)
		if err := do(); err != nil {
			return err
		}
		if w.fail != nil {
			return w.fail(name, true)
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			switch object := object.(type) {
			case *cachev1alpha1.Memcached:
				if w.stale != nil {
					w.stale.DeepCopyInto(object)
					return nil
				}
			case *appsv1.Deployment:
				if w.noDeployment {
					return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
				}
			}
			return c.Get(ctx, key, object, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return write("create "+kindOf(object), func() error {
				object.SetUID(types.UID(fmt.Sprintf("deployment-uid-%d", len(w.writes))))
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
				before := w.deployment()
				if err := c.Apply(ctx, object, options...); err != nil {
					return err
				}
				if after := w.deployment(); !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
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
				w.afterStatus()
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

// checkTruth fails the test if the status claims more than the pods show.
func (w *world) checkTruth() {
	w.t.Helper()
	mc := w.memcached()
	setDefaults(&mc.Spec)
	available := meta.FindStatusCondition(mc.Status.Conditions, cachev1alpha1.ConditionAvailable)
	if available == nil || available.Status != metav1.ConditionTrue {
		return
	}
	ready := 0
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp == nil && isReady(pod) {
			ready++
		}
	}
	if counted := int(w.deployment().Status.ReadyReplicas); min(ready, counted) < int(*mc.Spec.Size) {
		w.t.Errorf("Available=True with %d of %d pods ready, %d of them counted by the Deployment", ready, *mc.Spec.Size, counted)
	}
}

// reconcile runs the operator until it writes nothing more, and returns what it wrote.
func (w *world) reconcile() []string {
	w.t.Helper()
	first := len(w.writes)
	for range 20 {
		before := len(w.writes)
		if err := w.reconcileOnce(); err != nil {
			w.t.Fatalf("reconciling: %v", err)
		}
		if len(w.writes) == before {
			return slices.Clone(w.writes[first:])
		}
	}
	w.t.Fatalf("the operator keeps writing: %q", w.writes[first:])
	return nil
}

func (w *world) reconcileOnce() error {
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: testNamespace, Name: testName}}
	result, err := w.reconciler.Reconcile(w.t.Context(), request)
	w.recheck = result.RequeueAfter
	return err
}

func (w *world) memcached() *cachev1alpha1.Memcached {
	w.t.Helper()
	mc := &cachev1alpha1.Memcached{}
	w.get(mc)
	return mc
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.get(deployment)
	return deployment
}

func (w *world) get(object client.Object) {
	w.t.Helper()
	if err := w.cluster.Get(w.t.Context(), client.ObjectKey{Namespace: testNamespace, Name: testName}, object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pods() []corev1.Pod {
	w.t.Helper()
	pods := &corev1.PodList{}
	if err := w.cluster.List(w.t.Context(), pods, client.InNamespace(testNamespace)); err != nil {
		w.t.Fatal(err)
	}
	return pods.Items
}

// setSpec changes the Memcached as a user does.
func (w *world) setSpec(change func(*cachev1alpha1.MemcachedSpec)) {
	w.t.Helper()
	mc := w.memcached()
	change(&mc.Spec)
	mc.Generation++
	w.update(mc)
}

// updateDeployment changes the Deployment as somebody else does.
func (w *world) updateDeployment(change func(*appsv1.Deployment)) {
	w.t.Helper()
	deployment := w.deployment()
	change(deployment)
	deployment.Generation++
	w.update(deployment)
}

func (w *world) update(object client.Object) {
	w.t.Helper()
	if err := w.cluster.Update(w.t.Context(), object, client.FieldOwner("somebody-else")); err != nil {
		w.t.Fatal(err)
	}
}

// controlDeployment plays the Deployment's controller: afterwards there is one ReplicaSet, of the current template, and as many
// of its pods as the Deployment asks for. Pods that are new are not ready.
func (w *world) controlDeployment() {
	w.t.Helper()
	deployment := w.deployment()
	template := deployment.Spec.Template
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace,
		Name:      testName + "-" + template.Labels[cachev1alpha1.LabelTemplateHash],
		Labels:    template.Labels,
	}}
	replicaSet.UID = types.UID("uid of " + replicaSet.Name)
	replicaSet.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	if err := w.cluster.Create(w.t.Context(), replicaSet); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
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
		if err := w.cluster.Create(w.t.Context(), pod); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
	for _, pod := range w.pods() {
		if !wanted[pod.Name] {
			if err := w.cluster.Delete(w.t.Context(), &pod); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	deployment.Status.ObservedGeneration = deployment.Generation
	deployment.Status.ReadyReplicas = countReady(w.pods())
	if err := w.cluster.Status().Update(w.t.Context(), deployment); err != nil {
		w.t.Fatal(err)
	}
}

// setReady plays the kubelets, and the Deployment's controller, which counts: it makes the i-th pod, ordered by name, ready or
// not.
func (w *world) setReady(i int, ready corev1.ConditionStatus) {
	w.t.Helper()
	pod := w.pods()[i]
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	if err := w.cluster.Status().Update(w.t.Context(), &pod); err != nil {
		w.t.Fatal(err)
	}
	deployment := w.deployment()
	deployment.Status.ReadyReplicas = countReady(w.pods())
	if err := w.cluster.Status().Update(w.t.Context(), deployment); err != nil {
		w.t.Fatal(err)
	}
}

// start brings the Memcached from creation to Available, one pod after the other.
func (w *world) start() {
	w.t.Helper()
	w.reconcile()
	w.controlDeployment()
	w.reconcile()
	for i := range *w.memcached().Spec.Size {
		w.setReady(int(i), corev1.ConditionTrue)
		w.reconcile()
	}
}

// conditions returns the conditions of the Memcached in the form "Available=True/AllReplicasReady".
func (w *world) conditions() []string {
	w.t.Helper()
	return conditionStrings(w.memcached().Status)
}

func conditionStrings(status cachev1alpha1.MemcachedStatus) []string {
	var result []string
	for _, condition := range status.Conditions {
		result = append(result, fmt.Sprintf("%s=%s/%s", condition.Type, condition.Status, condition.Reason))
	}
	return result
}
