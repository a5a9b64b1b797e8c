package certificates

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "another", LeaseDurationSeconds: 24 * 3600}, []byte("another"), nil
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
	watched, stop := startReplica(t, s, counting)
	defer stop()
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

// startReplica runs a replica with that client until stop is called, and returns the informers of what it watches.
func startReplica(t *testing.T, s *site, c client.Client) (watched map[string]*controllertest.FakeInformer, stop func()) {
	t.Helper()
	informers := &informertest.FakeInformers{Scheme: clientgoscheme.Scheme}
	watched = map[string]*controllertest.FakeInformer{}
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
		NewClient:                           func(*rest.Config, client.Options) (client.Client, error) { return c, nil },
		Controller:                          config.Controller{SkipNameValidation: new(true)},
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: otherReplicas{},
	})
	if err != nil {
		t.Fatal(err)
	}
	replica := s.replica()
	replica.Client = c
	if err := replica.SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()
	return watched, func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

// However long something fails, another attempt comes in time for the alert about it to notice, and soon after the cause is gone.
func TestFailureIsRetriedAtLeastAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.options.RetryInterval = 40 * time.Second
		var attempts atomic.Int32
		_, stop := startReplica(t, s, interceptor.NewClient(s.client, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				attempts.Add(1)
				return errors.New("no permission")
			},
		}))
		defer stop()
		<-time.After(time.Hour)
		attempts.Store(0)
		<-time.After(time.Hour)
		if got, want := attempts.Load(), int32(time.Hour/s.options.RetryInterval); got < want-1 || got > want+1 {
			t.Errorf("%d attempts in the second hour of a failure, want %d", got, want)
		}
	})
}
