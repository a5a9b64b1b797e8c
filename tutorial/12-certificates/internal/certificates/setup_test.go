package certificates

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// otherReplicas is a lease that another replica holds.
type otherReplicas struct{ resourcelock.Interface }

// Get implements resourcelock.Interface.
func (otherReplicas) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "another", LeaseDurationSeconds: 3600}, []byte("another"), nil
}

// Identity implements resourcelock.Interface.
func (otherReplicas) Identity() string { return "this" }

// Describe implements resourcelock.Interface.
func (otherReplicas) Describe() string { return "lease" }

// A replica that does not lead issues its certificate when it starts, and reconciles when any of the three objects changes.
func TestSetup(t *testing.T) { synctest.Test(t, testSetup) }

func testSetup(t *testing.T) {
	s := newSite(t)
	var checks atomic.Int32
	counting := interceptor.NewClient(s.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ok := object.(*corev1.Secret); ok {
				checks.Add(1)
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	informers := &informertest.FakeInformers{Scheme: clientgoscheme.Scheme}
	watched := map[string]*controllertest.FakeInformer{}
	for kind, object := range map[string]client.Object{
		"Secret":                         &corev1.Secret{},
		"MutatingWebhookConfiguration":   &admissionregistrationv1.MutatingWebhookConfiguration{},
		"ValidatingWebhookConfiguration": &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		informer, err := informers.FakeInformerFor(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		watched[kind] = informer
	}
	manager, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{
		Scheme:                              clientgoscheme.Scheme,
		Logger:                              logr.Discard(),
		Metrics:                             metricsserver.Options{BindAddress: "0"},
		MapperProvider:                      func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return s.client.RESTMapper(), nil },
		NewCache:                            func(*rest.Config, cache.Options) (cache.Cache, error) { return informers, nil },
		NewClient:                           func(*rest.Config, client.Options) (client.Client, error) { return counting, nil },
		Controller:                          config.Controller{SkipNameValidation: new(true)},
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: otherReplicas{},
	})
	if err != nil {
		t.Fatal(err)
	}
	replica := s.replica()
	replica.Client = counting
	if err := replica.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	defer func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()
	// No time passes in Wait: without an event, it would check again only after a minute.
	expectCheck := func(why string) {
		t.Helper()
		synctest.Wait()
		if checks.Swap(0) == 0 {
			t.Fatalf("it does not check its certificate %s", why)
		}
	}
	expectCheck("at its start")
	for kind, informer := range watched {
		informer.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "changed"}})
		expectCheck("when a " + kind + " changes")
	}
}
