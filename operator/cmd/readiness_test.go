package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/example/operator-testbed/operator/internal/certificates"
)

// startable is a webhook server that listens as soon as a test says so.
type startable struct {
	webhook.Server
	listens bool
}

// StartedChecker implements webhook.Server.
func (s *startable) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.listens {
			return errors.New("it does not listen")
		}
		return nil
	}
}

// withServer is a manager with another webhook server.
type withServer struct {
	*recording
	server *startable
}

// GetWebhookServer implements manager.Manager.
func (m withServer) GetWebhookServer() webhook.Server { return m.server }

// readiness is an operator with webhooks, which has not been started, and all that its readiness depends on.
type readiness struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	server *startable
	api    client.Client
	// reconciler issues the certificate; nil if it comes from files.
	reconciler *certificates.Reconciler
	check      healthz.Checker
}

func newReadiness(t *testing.T, arguments ...string) *readiness {
	t.Helper()
	// The certificate in files is made with the real clock.
	r := &readiness{t: t, clock: clocktesting.NewFakeClock(time.Now().Truncate(time.Second)), api: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()}
	o, c := parsed(t, append([]string{"--health-probe-bind-address=0"}, arguments...)...)
	c.clock = r.clock
	if c.source != nil {
		c.source.Clock = r.clock
		r.reconciler = &certificates.Reconciler{Client: r.api, Options: *c.own, Source: c.source, Clock: r.clock}
	}
	m := newRecording(t, o, c)
	r.server = &startable{Server: m.GetWebhookServer()}
	if err := serveWebhooks(withServer{m, r.server}, o, c); err != nil {
		t.Fatal(err)
	}
	r.check = m.readyz["webhooks"]
	return r
}

// install creates the webhook configurations.
func (r *readiness) install() {
	r.t.Helper()
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "operator-" + mutatingConfiguration},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "m.example.com"}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "operator-" + validatingConfiguration},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v.example.com"}}},
	} {
		if err := r.api.Create(r.t.Context(), object); err != nil {
			r.t.Fatal(err)
		}
	}
}

// reconcile does what is due for the certificate, and what follows from that.
func (r *readiness) reconcile() {
	r.t.Helper()
	for range 3 {
		if r.reconciler == nil {
			return
		}
		if _, err := r.reconciler.Reconcile(r.t.Context(), ctrl.Request{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// secret returns the Secret with the authorities.
func (r *readiness) secret() *corev1.Secret {
	r.t.Helper()
	secret := &corev1.Secret{}
	if err := r.api.Get(r.t.Context(), r.reconciler.Options.Secret, secret); err != nil {
		r.t.Fatal(err)
	}
	return secret
}

// TestReadiness follows a replica from its start until its certificate has expired, for each source of the certificate. It is ready when,
// and only when, an API server can call its webhooks.
func TestReadiness(t *testing.T) {
	const week = 7 * 24 * time.Hour
	directory, _ := certificateFiles(t) // valid for a year, whether it is self-signed or of cert-manager
	own, files := []string{"--webhook-certificate-duration=168h"}, []string{"--webhook-cert-path=" + directory}

	listens := func(r *readiness) { r.server.listens = true }
	passes := func(d time.Duration) func(*readiness) { return func(r *readiness) { r.clock.Step(d) } }
	type step struct {
		name  string
		do    func(*readiness)
		ready bool
	}
	for _, source := range []struct {
		name      string
		arguments []string
		steps     []step
	}{
		{"its own authority", own, []step{
			{"not started", func(*readiness) {}, false},
			{"listening, without a certificate", listens, false},
			{"not trusted", (*readiness).reconcile, false},
			{"trusted", func(r *readiness) { r.install(); r.reconcile() }, true},
			{"trusted, but not listening anymore", func(r *readiness) { r.server.listens = false }, false},
			{"listening again", listens, true},
			{"just before it expires", passes(week - time.Second), true},
			{"expired", passes(time.Second), false},
			{"renewed", (*readiness).reconcile, true},
			{"long expired", passes(2 * week), false},
			{"renewed again", (*readiness).reconcile, true},
		}},
		{"its own authority, trusted before it listens", own, []step{
			{"trusted", func(r *readiness) { r.install(); r.reconcile() }, false},
			{"listening", listens, true},
		}},
		{"files", files, []step{
			{"not started", func(*readiness) {}, false},
			{"listening", listens, true},
			{"not listening anymore", func(r *readiness) { r.server.listens = false }, false},
			{"listening again", listens, true},
			{"a long time before it expires", passes(51 * week), true},
			{"expired", passes(2 * week), false},
		}},
	} {
		t.Run(source.name, func(t *testing.T) {
			r := newReadiness(t, source.arguments...)
			for _, step := range source.steps {
				step.do(r)
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.check(request); (err == nil) != step.ready {
					t.Errorf("%s: ready = %t (%v), want %t", step.name, err == nil, err, step.ready)
				}
			}
		})
	}
}
