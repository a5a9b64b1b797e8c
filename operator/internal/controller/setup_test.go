package controller

import (
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/operator-testbed/operator/internal/metrics"
)

// observedManager records what is added to it.
type observedManager struct {
	ctrl.Manager
	runs []manager.Runnable
}

func (o *observedManager) Add(runnable manager.Runnable) error {
	o.runs = append(o.runs, runnable)
	return o.Manager.Add(runnable)
}

func TestSetupWithManager(t *testing.T) {
	given := events.NewFakeRecorder(1)
	for name, recorder := range map[string]events.EventRecorder{"a recorder is given": given, "none is": nil} {
		t.Run(name, func(t *testing.T) {
			plain, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
				Scheme:         testScheme(),
				MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return restMapper(), nil },
				Metrics:        metricsserver.Options{BindAddress: "0"},
				Cache:          CacheOptions(),
				Controller:     config.Controller{SkipNameValidation: new(true)},
			})
			if err != nil {
				t.Fatal(err)
			}
			observed := &observedManager{Manager: plain}
			r := &MemcachedReconciler{Client: plain.GetClient(), RecheckInterval: testRecheck, ProgressDeadline: testDeadline, Recorder: recorder}
			if err := r.SetupWithManager(t.Context(), observed); err != nil {
				t.Fatal(err)
			}
			if len(observed.runs) != 2 {
				t.Fatalf("the manager runs %d things, want the collector of metrics and the controller", len(observed.runs))
			}
			if _, collects := observed.runs[0].(*metrics.Collector); !collects {
				t.Errorf("the manager runs %T before the controller, want the collector of metrics", observed.runs[0])
			}
			if r.Recorder == nil || (recorder != nil) != (r.Recorder == recorder) {
				t.Errorf("the recorder is %T, want the manager's unless one was given", r.Recorder)
			}
			// Adding the reconciler a second time would count twice, or the fields could not be found, so it returns an error.
			if err := r.SetupWithManager(t.Context(), observed); err == nil {
				t.Error("the same fields are indexed twice")
			}
		})
	}
}

// A failed reconcile is retried soon, but not at once.
func TestFirstRetry(t *testing.T) {
	if firstRetry < time.Millisecond || firstRetry > time.Second {
		t.Errorf("the first retry comes after %s", firstRetry)
	}
}

func TestUpdatesOfOtherKindsAreRelevant(t *testing.T) {
	for _, update := range []event.UpdateEvent{
		{ObjectOld: &appsv1.Deployment{}, ObjectNew: &corev1.Pod{}},
		{ObjectOld: &corev1.Pod{}, ObjectNew: &appsv1.Deployment{}},
	} {
		if !isRelevantUpdate(update) {
			t.Errorf("an update from %T to %T is ignored", update.ObjectOld, update.ObjectNew)
		}
	}
}
