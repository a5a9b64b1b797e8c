// Package envtest shows what the cluster of controller-runtime's package of that name lacks: the controllers. It also compares two ways
// to write an object, which takes only an API server.
package envtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is for how long nothing happens. A garbage collector takes a fraction of it.
const patience = 5 * time.Second

// environment has more time than its default, 20 seconds, which a busy machine may exceed.
var environment = envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: 5 * time.Minute}

// start starts etcd and an API server when the first test needs them. They end with the last test.
var start = sync.OnceValues(func() (*rest.Config, error) {
	starting.Lock()
	defer starting.Unlock()
	return environment.Start()
})

// starting is locked while they start, and from when they end.
var starting sync.Mutex

func TestMain(m *testing.M) {
	// Ctrl-C stops the tests, but does not reach etcd and the API server, because envtest puts them into separate process groups.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		end(1)
	}()
	end(m.Run())
}

// end ends the tests, and all that they have started.
func end(code int) {
	starting.Lock()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// startAPIServer returns how to reach an API server. The test runs in parallel with the others, which use the same one.
func startAPIServer(t *testing.T) *rest.Config {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" && os.Getenv("USE_EXISTING_CLUSTER") != "true" {
		t.Skip("needs an API server: run `make test`, or set KUBEBUILDER_ASSETS to a directory that holds etcd and kube-apiserver")
	}
	t.Parallel()
	ctrl.SetLogger(logr.Discard())
	config, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// namespace makes a namespace, which is deleted with the test.
func namespace(t *testing.T, client kubernetes.Interface) *corev1.Namespace {
	t.Helper()
	created, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "envtest-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{})
	})
	return created
}

// TestNobodyActs deletes an owner, and a namespace. Their API server is alone, so what they held stays.
func TestNobodyActs(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(startAPIServer(t))
	t.Run("for an owner that is deleted", func(t *testing.T) {
		t.Parallel()
		maps := client.CoreV1().ConfigMaps(namespace(t, client).Name)
		owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owned, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name:            "owned",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		stays(t, owned, maps.Watch)
	})
	t.Run("for a namespace that is deleted", func(t *testing.T) {
		t.Parallel()
		gone := namespace(t, client)
		if err := client.CoreV1().Namespaces().Delete(t.Context(), gone.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		stays(t, gone, client.CoreV1().Namespaces().Watch)
		seen, err := client.CoreV1().Namespaces().Get(t.Context(), gone.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if seen.Status.Phase != corev1.NamespaceTerminating {
			t.Errorf("expected the namespace to be Terminating; last seen: %s", seen.Status.Phase)
		}
	})
}

// stays fails the test if the object is deleted soon.
func stays(t *testing.T, object metav1.Object, watches func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	t.Helper()
	seconds := int64(patience / time.Second)
	changes, err := watches(t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + object.GetName(), ResourceVersion: object.GetResourceVersion(), TimeoutSeconds: &seconds,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	for change := range changes.ResultChan() { // the API server ends it
		switch change.Type {
		case watch.Deleted:
			t.Fatalf("expected %s to stay, as nobody collects garbage; last seen: it was deleted", object.GetName())
		case watch.Error:
			t.Fatalf("watching %s: %v", object.GetName(), change.Object)
		}
	}
}
