package main

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// certificateFiles writes a certificate and its key into a directory, with the names that cert-manager uses.
func certificateFiles(t *testing.T) (directory string, certificate []byte) {
	t.Helper()
	directory = t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory, certificate
}

// recording is a manager that records what is added to it. It is never started.
type recording struct {
	ctrl.Manager
	runnables []manager.Runnable
	readyz    map[string]healthz.Checker
}

// Add implements manager.Manager.
func (r *recording) Add(runnable manager.Runnable) error {
	r.runnables = append(r.runnables, runnable)
	return nil
}

// AddReadyzCheck implements manager.Manager.
func (r *recording) AddReadyzCheck(name string, check healthz.Checker) error {
	r.readyz[name] = check
	return nil
}

func newRecording(t *testing.T, o options, c certificate) *recording {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cachev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	managed := managerOptions(o, c, scheme, logr.Discard())
	managed.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		return testrestmapper.TestOnlyStaticRESTMapper(scheme), nil
	}
	managed.Controller.SkipNameValidation = new(true)
	m, err := ctrl.NewManager(&rest.Config{}, managed)
	if err != nil {
		t.Fatal(err)
	}
	return &recording{Manager: m, readyz: map[string]healthz.Checker{}}
}

// Every replica maintains its certificate, leader or not, and is ready only when its webhooks can be called.
func TestServeWebhooks(t *testing.T) {
	directory, _ := certificateFiles(t)
	for name, arguments := range map[string][]string{
		"its own certificate":      {"--health-probe-bind-address=0"},
		"a certificate from files": {"--health-probe-bind-address=0", "--webhook-cert-path=" + directory},
	} {
		t.Run(name, func(t *testing.T) {
			o, c := parsed(t, arguments...)
			m := newRecording(t, o, c)
			if err := serveWebhooks(m, o, c); err != nil {
				t.Fatal(err)
			}
			if len(m.runnables) != 1 {
				t.Fatalf("it runs %d things, want one, which looks after the certificate", len(m.runnables))
			}
			if elected, ok := m.runnables[0].(manager.LeaderElectionRunnable); !ok || elected.NeedLeaderElection() {
				t.Error("only the leader looks after its certificate")
			}
			if _, watches := m.runnables[0].(*certwatcher.CertWatcher); watches != (c.files != nil) {
				t.Errorf("files are watched: %t, want %t", watches, c.files != nil)
			}
			if check := m.readyz["webhooks"]; check == nil || check(&http.Request{}) == nil {
				t.Error("it is ready before its webhooks are served")
			}
		})
	}
}

// The servers present the certificate in the directory that --webhook-cert-path names.
func TestCertificateFromFiles(t *testing.T) {
	directory, want := certificateFiles(t)
	_, c := parsed(t, "--webhook-cert-path="+directory)
	served := &tls.Config{}
	for _, change := range c.tlsOptions() {
		change(served)
	}
	shown, err := served.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := cert.ParseCertsPEM(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shown.Certificate[0], certificates[0].Raw) {
		t.Error("another certificate is shown")
	}
	o, err := parseOptions([]string{"--webhook-cert-path=" + t.TempDir()}, environment(nil), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newCertificate(o); err == nil {
		t.Error("an empty directory is taken")
	}
}
