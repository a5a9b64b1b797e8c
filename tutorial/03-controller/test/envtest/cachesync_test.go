package envtest

import (
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/03-controller/api/v1alpha1"
	"github.com/example/operator-testbed/tutorial/03-controller/internal/controller"
)

// impatient returns the options of a manager that waits two seconds for its caches. The default is two minutes.
func impatient(scheme *runtime.Scheme) ctrl.Options {
	return ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{CacheSyncTimeout: 2 * time.Second},
	}
}

// TestManagerGivesUp runs the chapter's controller on an API server that has no CRD, so that its cache can't list any Memcacheds.
func TestManagerGivesUp(t *testing.T) {
	if os.Getenv("USE_EXISTING_CLUSTER") == "true" {
		t.Skip("that cluster may have the CRD")
	}
	config := startAPIServer(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cachev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	manager, err := ctrl.NewManager(config, impatient(scheme))
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &controller.MemcachedReconciler{Client: manager.GetClient()}
	if err := reconciler.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	// The manager fills the caches that it knows of before it starts the controllers, so the one of the Deployments is not late.
	if _, err := manager.GetCache().GetInformer(t.Context(), &appsv1.Deployment{}); err != nil {
		t.Fatal(err)
	}
	err = manager.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "timed out waiting for cache to be synced for kind source: *v1alpha1.Memcached") {
		t.Fatalf("expected the manager to give up waiting for its cache; last seen: %v", err)
	}
	t.Log(err)
}
