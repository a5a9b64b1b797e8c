package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	accorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
	"github.com/example/operator-testbed/operator/internal/testenv"
)

// apiServer is a real API server with our CustomResourceDefinition and without controllers. The first test that needs it starts
// it; it is stopped after the last test.
var apiServer struct {
	once   sync.Once
	config *rest.Config
	stop   func() error // nil unless it runs
	err    error
}

func TestMain(m *testing.M) {
	// Errors that tests cause on purpose would fill the log.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if apiServer.stop != nil {
		if err := apiServer.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// needAPIServer returns the configuration of the API server, or skips the test if its executables are not installed.
func needAPIServer(t *testing.T) *rest.Config {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("needs an API server: run `make test`, or set KUBEBUILDER_ASSETS to a directory that holds etcd and kube-apiserver")
	}
	apiServer.once.Do(func() {
		environment := &envtest.Environment{
			CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
			ErrorIfCRDPathMissing: true,
			Scheme:                testScheme(),
			// The defaults, 10 and 20 seconds, are too short for a machine that compiles meanwhile.
			CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 10 * time.Minute},
			ControlPlaneStartTimeout: 5 * time.Minute,
			ControlPlaneStopTimeout:  5 * time.Minute,
		}
		environment.ControlPlane.GetAPIServer().Configure().
			Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
		apiServer.config, apiServer.stop, apiServer.err = testenv.Start(environment)
	})
	if apiServer.err != nil {
		t.Fatal(apiServer.err)
	}
	return apiServer.config
}

// site is a namespace on the API server, and an operator for it whose requests are counted.
type site struct {
	t         *testing.T
	namespace string
	// user is a client with all permissions. Its writes are somebody else's.
	user client.Client
	// reconciler is called by the test, not by watches.
	reconciler *MemcachedReconciler
	cache      cache.Cache
	traffic    *traffic
}

// newSite returns a new namespace with an operator that has all permissions.
func newSite(t *testing.T) *site {
	t.Helper()
	s := newSiteAs(t, needAPIServer(t))
	if !s.cache.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not fill")
	}
	return s
}

// newSiteAs returns a new namespace with an operator that connects to the API server with config. Its cache is still being
// filled.
func newSiteAs(t *testing.T, config *rest.Config) *site {
	t.Helper()
	s := &site{t: t, user: newUser(t), traffic: &traffic{}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "site-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	s.do(s.user.Create(t.Context(), namespace))
	s.namespace = namespace.Name

	config = rest.CopyConfig(config)
	config.Wrap(s.traffic.watch)
	options := CacheOptions()
	options.Scheme = testScheme()
	options.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	var err error
	s.cache, err = cache.New(config, options)
	s.do(err)
	s.do(indexFields(t.Context(), s.cache))
	for _, object := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}} {
		_, err = s.cache.GetInformer(t.Context(), object)
		s.do(err)
	}
	go func() { _ = s.cache.Start(t.Context()) }() // stops with the test

	writer, err := client.New(config, client.Options{Scheme: testScheme(), Cache: &client.CacheOptions{Reader: s.cache}})
	s.do(err)
	live, err := client.New(config, client.Options{Scheme: testScheme()})
	s.do(err)
	s.reconciler = &MemcachedReconciler{
		Client: writer, APIReader: live, Image: testImage, RecheckInterval: testRecheck,
		ProgressDeadline: testDeadline, Recorder: newRecorder(t, config),
	}
	return s
}

// newRecorder returns an event recorder like a manager's.
func newRecorder(t *testing.T, config *rest.Config) events.EventRecorder {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clientset.EventsV1()})
	t.Cleanup(broadcaster.Shutdown)
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return broadcaster.NewRecorder(testScheme(), cachev1alpha1.FieldManager)
}

// newUser returns a client that has all permissions and is not the operator.
func newUser(t *testing.T) client.Client {
	t.Helper()
	user, err := client.New(needAPIServer(t), client.Options{Scheme: testScheme(), FieldOwner: "somebody-else"})
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// traffic records the requests that change something, and the responses that are failures.
type traffic struct {
	mutex    sync.Mutex
	writes   []string
	failures []string
}

func (r *traffic) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		r.mutex.Lock()
		defer r.mutex.Unlock()
		line := request.Method + " " + resourceOf(request.URL.Path)
		if request.Method == http.MethodPatch {
			line += " " + strings.TrimPrefix(request.Header.Get("Content-Type"), "application/")
		}
		if request.Method != http.MethodGet {
			r.writes = append(r.writes, line)
		}
		if err == nil && response.StatusCode >= 400 && response.StatusCode != http.StatusNotFound {
			r.failures = append(r.failures, fmt.Sprintf("%s: %s", line, response.Status))
		}
		return response, err
	})
}

// resourceOf returns the resource and the subresource of a path such as /apis/apps/v1/namespaces/a/deployments/b/status.
func resourceOf(path string) string {
	_, path, _ = strings.Cut(path, "/namespaces/")
	parts := strings.Split(path, "/")
	switch len(parts) {
	case 4:
		return parts[1] + "/" + parts[3]
	case 2, 3:
		return parts[1]
	}
	return path
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// take returns the writes since the last call.
func (r *traffic) take() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	writes := r.writes
	r.writes = nil
	return writes
}

// refusals returns the failed responses so far that contain text.
func (r *traffic) refusals(text string) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(r.failures), func(failure string) bool { return !strings.Contains(failure, text) })
}

// newMemcached creates a Memcached and lets the operator create its Deployment.
func (s *site) newMemcached(name string) *cachev1alpha1.Memcached {
	s.t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	s.do(s.user.Create(s.t.Context(), mc))
	s.reconcile(mc)
	return mc
}

// reconcile calls the operator once its cache is up to date with the API server, and returns what the operator wrote.
func (s *site) reconcile(mc *cachev1alpha1.Memcached) []string {
	s.t.Helper()
	s.sync(mc)
	s.traffic.take()
	_, err := s.reconciler.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: nameOf(mc)})
	s.do(err)
	return s.traffic.take()
}

// sync waits until the operator's cache has the current Memcached and Deployment.
func (s *site) sync(mc *cachev1alpha1.Memcached) {
	s.t.Helper()
	for _, object := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}} {
		// A cache has no event for "up to date", so this polls it, usually for milliseconds.
		err := poll(s.t.Context(), func(ctx context.Context) (bool, error) {
			live, cached := object.DeepCopyObject().(client.Object), object
			liveErr := s.user.Get(ctx, nameOf(mc), live)
			cachedErr := s.reconciler.Get(ctx, nameOf(mc), cached)
			if err := errors.Join(client.IgnoreNotFound(liveErr), client.IgnoreNotFound(cachedErr)); err != nil {
				return false, err
			}
			_, isDeployment := live.(*appsv1.Deployment)
			selected := liveErr == nil && (!isDeployment || memcachedUID(live) != nil)
			if !selected {
				return cachedErr != nil, nil
			}
			return cachedErr == nil && live.GetResourceVersion() == cached.GetResourceVersion(), nil
		})
		s.do(err)
	}
}

func (s *site) deployment(mc *cachev1alpha1.Memcached) *appsv1.Deployment {
	s.t.Helper()
	deployment := &appsv1.Deployment{}
	s.do(s.user.Get(s.t.Context(), nameOf(mc), deployment))
	return deployment
}

func (s *site) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// update changes the Deployment as somebody else does.
func (s *site) update(mc *cachev1alpha1.Memcached, change func(*appsv1.Deployment)) error {
	s.t.Helper()
	deployment := s.deployment(mc)
	change(deployment)
	return s.user.Update(s.t.Context(), deployment)
}

// setSpec changes the Memcached as a user does.
func (s *site) setSpec(mc *cachev1alpha1.Memcached, change func(*cachev1alpha1.MemcachedSpec)) {
	s.t.Helper()
	s.do(s.user.Get(s.t.Context(), nameOf(mc), mc))
	change(&mc.Spec)
	s.do(s.user.Update(s.t.Context(), mc))
}

// expectNoDrift fails the test if the live Deployment is not as desired.
func (s *site) expectNoDrift(mc *cachev1alpha1.Memcached) {
	s.t.Helper()
	s.do(s.user.Get(s.t.Context(), nameOf(mc), mc))
	if paths := ssa.Drift(desiredDeployment(mc, s.reconciler.Image), s.deployment(mc)); len(paths) > 0 {
		s.t.Errorf("not as it should be: %q", paths)
	}
}

// The operator's writes, as traffic records them.
const (
	createByPost    = "POST deployments"
	takeOverByPatch = "PATCH deployments json-patch+json"
	applyByPatch    = "PATCH deployments apply-patch+yaml"
	statusByPatch   = "PATCH memcacheds/status json-patch+json"
)

func TestSchemaOnAPIServer(t *testing.T) {
	s := newSite(t)
	for _, test := range []struct {
		name, manifest, want string
	}{
		{"no spec", "", ""},
		{"empty spec", "spec: {}", ""},
		{"null size", "spec: {size: null}", ""},
		{"largest", "spec: {size: 5, containerPort: 65535}", ""},
		{"size 0", "spec: {size: 0}", "spec.size in body should be greater than or equal to 1"},
		{"size 6", "spec: {size: 6}", "spec.size in body should be less than or equal to 5"},
		{"size -1", "spec: {size: -1}", "spec.size in body should be greater than or equal to 1"},
		{"port 0", "spec: {containerPort: 0}", "spec.containerPort in body should be greater than or equal to 1"},
		{"port 65536", "spec: {containerPort: 65536}", "spec.containerPort in body should be less than or equal to 65535"},
		{"size as text", "spec: {size: three}", "must be of type integer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.manifest), &object.Object); err != nil {
				t.Fatal(err)
			}
			if object.Object == nil {
				object.Object = map[string]any{}
			}
			object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
			object.SetNamespace(s.namespace)
			object.SetGenerateName("schema-")
			err := s.user.Create(t.Context(), object)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error = %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mc := &cachev1alpha1.Memcached{}
			if err := s.user.Get(t.Context(), client.ObjectKeyFromObject(object), mc); err != nil {
				t.Fatal(err)
			}
			if mc.Spec.Size == nil || mc.Spec.ContainerPort == nil {
				t.Errorf("spec = %+v, want defaults in it", mc.Spec)
			}
		})
	}

	t.Run("defaults", func(t *testing.T) {
		mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "defaults"}}
		if err := s.user.Create(t.Context(), mc); err != nil {
			t.Fatal(err)
		}
		if *mc.Spec.Size != 1 || *mc.Spec.ContainerPort != 11211 {
			t.Errorf("size %d and port %d, want 1 and 11211", *mc.Spec.Size, *mc.Spec.ContainerPort)
		}
	})
	t.Run("size 0 from a typed client", func(t *testing.T) {
		mc := &cachev1alpha1.Memcached{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "zero"},
			Spec:       cachev1alpha1.MemcachedSpec{Size: new(int32(0))},
		}
		if err := s.user.Create(t.Context(), mc); !apierrors.IsInvalid(err) {
			t.Errorf("error = %v, want Invalid", err)
		}
	})
	t.Run("names", func(t *testing.T) {
		for length, legal := range map[int]bool{63: true, 64: false} {
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a." + strings.Repeat("b", length-2)}}
			err := s.user.Create(t.Context(), mc)
			if legal && err != nil || !legal && (err == nil || !strings.Contains(err.Error(), "metadata.name must have at most 63 characters")) {
				t.Errorf("a name of %d characters: error = %v", length, err)
			}
			if legal {
				s.reconcile(mc) // the Deployment has the Memcached's name, also in its labels
			}
		}
	})
}

// The API server sets defaults on creation. They are not drift.
func TestNothingToDoOnAPIServer(t *testing.T) {
	for name, image := range oddImages {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.reconciler.Image = image
			mc := s.newMemcached("a")
			for range 2 {
				if writes := s.reconcile(mc); len(writes) > 0 {
					t.Errorf("writes = %q, want none", writes)
				}
				// From here on, the operator has just restarted.
				s.reconciler.lastWrites = lastWrites{}
			}
		})
	}
}

// The namespaces of the tests enforce the restricted Pod Security Standard.
func TestPodsAreRestrictedOnAPIServer(t *testing.T) {
	s := newSite(t)
	templates := map[string]corev1.PodTemplateSpec{
		"memcached": s.deployment(s.newMemcached("a")).Spec.Template,
		"manager":   managerTemplate(t),
	}
	for name, template := range templates {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			pod.Namespace, pod.Name = s.namespace, name
			if err := s.user.Create(t.Context(), pod); err != nil {
				t.Error(err)
			}
		})
	}
}

// managerTemplate returns the pod template of the operator's own Deployment.
func managerTemplate(t *testing.T) corev1.PodTemplateSpec {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "manager", "manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		deployment := &appsv1.Deployment{}
		if err := yaml.Unmarshal([]byte(document), deployment); err == nil && deployment.Kind == "Deployment" {
			return deployment.Spec.Template
		}
	}
	t.Fatal("config/manager/manager.yaml holds no Deployment")
	return corev1.PodTemplateSpec{}
}

func TestFirstWritesOnAPIServer(t *testing.T) {
	s := newSite(t)
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}}
	s.do(s.user.Create(t.Context(), mc))
	expectWrites(t, s.reconcile(mc), createByPost, statusByPatch)

	s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(3)) })
	expectWrites(t, s.reconcile(mc), applyByPatch, statusByPatch)
	s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(5)) })
	expectWrites(t, s.reconcile(mc), applyByPatch, statusByPatch)
	// The port identifies an element of a list, so the old one has to go away.
	s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(22122)) })
	expectWrites(t, s.reconcile(mc), takeOverByPatch, applyByPatch, statusByPatch)
	s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(33133)) })
	expectWrites(t, s.reconcile(mc), applyByPatch, statusByPatch)
	expectWrites(t, s.reconcile(mc))
}

// The API server records the operator as the manager of what it sets, whatever its executable is called.
func TestFieldOwnersOnAPIServer(t *testing.T) {
	s := newSite(t)
	mc := s.newMemcached("owned")
	s.do(s.user.Get(t.Context(), nameOf(mc), mc))
	managers := func(object client.Object) (result []string) {
		for _, entry := range object.GetManagedFields() {
			result = append(result, strings.TrimSuffix(entry.Manager+" "+entry.Subresource, " "))
		}
		slices.Sort(result) // they are in the order of time, in seconds
		return result
	}
	if diff := cmp.Diff([]string{"memcached-operator status", "somebody-else"}, managers(mc)); diff != "" {
		t.Errorf("managers of the Memcached's fields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"memcached-operator"}, managers(s.deployment(mc))); diff != "" {
		t.Errorf("managers of the Deployment's fields (-want +got):\n%s", diff)
	}
}

// Fields that the operator set by creating the Deployment are removed like those that it applied. Others' fields and the API
// server's defaults stay.
func TestUnsetFieldsAreRemovedOnAPIServer(t *testing.T) {
	earlier := func(mc *cachev1alpha1.Memcached) *acappsv1.DeploymentApplyConfiguration {
		desired := desiredDeployment(mc, testImage)
		desired.WithLabels(map[string]string{"example.com/earlier": "yes"})
		desired.WithAnnotations(map[string]string{cachev1alpha1.AnnotationFieldsHash: "earlier"})
		desired.Spec.WithMinReadySeconds(3)
		desired.Spec.Template.Spec.WithNodeSelector(map[string]string{"example.com/earlier": "yes"})
		desired.Spec.Template.Spec.Containers[0].WithEnv(accorev1.EnvVar().WithName("EARLIER").WithValue("yes"))
		return desired
	}
	for name, applied := range map[string]bool{"created by an earlier version": false, "created and applied by an earlier version": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}}
			s.do(s.user.Create(t.Context(), mc))
			_, err := s.reconciler.createDeployment(t.Context(), mc, earlier(mc))
			s.do(err)
			if applied {
				s.do(s.update(mc, func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = new(int32(4)) }))
				_, err = ssa.Apply(t.Context(), s.reconciler.Client, cachev1alpha1.FieldManager, s.deployment(mc), earlier(mc))
				s.do(err)
			}
			s.do(s.update(mc, func(deployment *appsv1.Deployment) {
				deployment.Labels["example.com/somebody-else"] = "yes"
				container := &deployment.Spec.Template.Spec.Containers[0]
				container.Env = append(container.Env, corev1.EnvVar{Name: "SOMEBODY_ELSE", Value: "yes"})
			}))
			defaults := s.deployment(mc).Spec.Template.Spec.DeepCopy()

			if writes := s.reconcile(mc); !slices.Contains(writes, applyByPatch) {
				t.Errorf("writes = %q, want an apply", writes)
			}
			s.expectNoDrift(mc)
			expectWrites(t, s.reconcile(mc))

			deployment := s.deployment(mc)
			pod := deployment.Spec.Template.Spec
			if deployment.Labels["example.com/earlier"] != "" || deployment.Spec.MinReadySeconds != 0 || pod.NodeSelector["example.com/earlier"] != "" {
				t.Errorf("still there from an earlier version: labels %v, minReadySeconds %d, nodeSelector %v",
					deployment.Labels, deployment.Spec.MinReadySeconds, pod.NodeSelector)
			}
			if diff := cmp.Diff([]corev1.EnvVar{{Name: "SOMEBODY_ELSE", Value: "yes"}}, pod.Containers[0].Env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if deployment.Labels["example.com/somebody-else"] != "yes" {
				t.Error("somebody else's label is gone")
			}
			delete(defaults.NodeSelector, "example.com/earlier")
			defaults.Containers[0].Env = pod.Containers[0].Env
			if diff := cmp.Diff(*defaults, pod); diff != "" {
				t.Errorf("the API server's defaults changed (-want +got):\n%s", diff)
			}
		})
	}
}

// The Deployment's controller writes the status of the Deployment while the operator changes its spec.
func TestNoConflictsOnAPIServer(t *testing.T) {
	s := newSite(t)
	for i := range 10 {
		mc := s.newMemcached(fmt.Sprintf("busy-%d", i))
		name := mc.Name
		ctx, stop := context.WithCancel(t.Context())
		var controller sync.WaitGroup
		controller.Go(func() {
			for n := int64(1); ctx.Err() == nil; n++ {
				patch := fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, n)
				deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
				err := s.user.Status().Patch(ctx, deployment, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("kube-controller-manager"))
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
		s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { *spec.Size = 2 })
		_, err := s.reconciler.ensureDeployment(t.Context(), mc)
		stop()
		controller.Wait()
		s.do(err)
		s.expectNoDrift(mc)
	}
	if conflicts := s.traffic.refusals("409"); len(conflicts) > 0 {
		t.Errorf("conflicts: %q", conflicts)
	}
}

func TestEveryOwnedFieldIsRestoredOnAPIServer(t *testing.T) {
	s := newSite(t)
	drifts := 0
	for i, path := range ownedFields(t) {
		for how, change := range map[string]func(any) any{"changed": changed, "removed": removed} {
			if slices.Equal(path, []any{"metadata", "ownerReferences", 0, "uid"}) {
				continue // a Deployment with another controller belongs to that controller
			}
			t.Run(fmt.Sprintf("%v %s", path, how), func(t *testing.T) {
				s.t = t
				mc := s.newMemcached(fmt.Sprintf("%s-%d", how, i))
				err := s.update(mc, func(deployment *appsv1.Deployment) { *deployment = *edit(t, deployment, path, change) })
				if apierrors.IsInvalid(err) {
					t.Skip("the API server does not allow this change")
				}
				s.do(err)
				if len(ssa.Drift(desiredDeployment(mc, testImage), s.deployment(mc))) == 0 {
					t.Skip("the API server puts it back as a default")
				}
				drifts++
				if writes := s.reconcile(mc); !slices.Contains(writes, applyByPatch) {
					t.Errorf("writes = %q, want an apply", writes)
				}
				s.expectNoDrift(mc)
				expectWrites(t, s.reconcile(mc))
			})
		}
	}
	if drifts < 60 {
		t.Errorf("only %d drifts were possible, want more: does the test still change fields that the operator sets?", drifts)
	}
}

// An edited port is, to server-side apply, a new element of the list, with the same name as ours.
func TestEditedPortOnAPIServer(t *testing.T) {
	s := newSite(t)
	mc := s.newMemcached("a")
	want := []corev1.ContainerPort{{Name: "memcached", ContainerPort: 11211, Protocol: corev1.ProtocolTCP}}
	for round := range 3 {
		s.do(s.update(mc, func(deployment *appsv1.Deployment) {
			container := &deployment.Spec.Template.Spec.Containers[0]
			container.Ports[0].ContainerPort = 9999
			container.Ports = append(container.Ports, corev1.ContainerPort{ContainerPort: 9998, Protocol: corev1.ProtocolUDP})
		}))
		expectWrites(t, s.reconcile(mc), takeOverByPatch, applyByPatch)
		if diff := cmp.Diff(want, s.deployment(mc).Spec.Template.Spec.Containers[0].Ports); diff != "" {
			t.Errorf("round %d: ports (-want +got):\n%s", round, diff)
		}
	}
	s.setSpec(mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(int32(9999)) })
	want[0].ContainerPort = 9999
	expectWrites(t, s.reconcile(mc), applyByPatch, statusByPatch)
	if diff := cmp.Diff(want, s.deployment(mc).Spec.Template.Spec.Containers[0].Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// A late write neither creates an object that was deleted nor changes one that was created again.
func TestLateWritesOnAPIServer(t *testing.T) {
	t.Run("apply after the Deployment was deleted", func(t *testing.T) {
		s := newSite(t)
		mc := s.newMemcached("a")
		live := s.deployment(mc)
		s.do(s.user.Delete(t.Context(), live.DeepCopy()))
		if _, err := ssa.Apply(t.Context(), s.reconciler.Client, cachev1alpha1.FieldManager, live, desiredDeployment(mc, testImage)); err == nil {
			t.Error("applied, want an error")
		}
		if err := s.user.Get(t.Context(), nameOf(mc), live); !apierrors.IsNotFound(err) {
			t.Errorf("reading the Deployment: %v, want it not to be found", err)
		}
	})
	for name, recreate := range map[string]bool{"the Memcached was deleted": false, "the Memcached was created again": true} {
		t.Run("status after "+name, func(t *testing.T) {
			s := newSite(t)
			mc := s.newMemcached("a")
			s.do(s.user.Delete(t.Context(), mc.DeepCopy()))
			successor := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}}
			if recreate {
				s.do(s.user.Create(t.Context(), successor))
			}
			late := testSnapshot(1)
			late.memcached = mc
			status, _ := computeStatus(late)
			_, err := s.reconciler.ensureStatus(t.Context(), late, status)
			s.do(err)
			if recreate {
				s.do(s.user.Get(t.Context(), nameOf(mc), successor))
				if len(successor.Status.Conditions) > 0 {
					t.Errorf("the successor has its predecessor's status: %v", conditionStrings(successor.Status))
				}
			}
		})
	}
}
