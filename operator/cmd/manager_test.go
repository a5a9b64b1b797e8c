package main

import (
	"crypto/tls"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/example/operator-testbed/operator/internal/controller"
)

// everyFlagSet sets each flag that reaches the manager to another value than its default.
var everyFlagSet = []string{
	"--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=127.0.0.1:2", "--namespaces=a,b-c", "--name-prefix=p-",
	"--webhook-bind-address=127.0.0.1:3", "--webhook-ca-duration=5h", "--webhook-certificate-duration=2h",
	"--max-concurrent-reconciles=5", "--reconciliation-timeout=6s", "--recheck-interval=4m", "--progress-deadline=3m", "--progress-interval=4s", "--omit-run-as-user", "--leader-elect", "--leader-election-namespace=l",
	"--leader-election-lease-duration=70s", "--leader-election-renew-deadline=50s", "--leader-election-retry-period=10s",
}

func parsed(t *testing.T, arguments ...string) (options, certificate) {
	t.Helper()
	o, err := parseOptions(arguments, environment(withImage("example.com/memcached:1")), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCertificate(o)
	if err != nil {
		t.Fatal(err)
	}
	return o, c
}

// The API server sends the operator's watches uncompressed.
func TestClusterConfigDeclinesCompression(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}], contexts: [{name: a, context: {cluster: a}}], current-context: a}"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	got, err := clusterConfig()
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "https://127.0.0.1:1" || !got.DisableCompression {
		t.Errorf("host = %q, compression declined: %t, want the kubeconfig's, and true", got.Host, got.DisableCompression)
	}
}

// Every setting on the command line reaches the manager, and no other does.
func TestManagerOptions(t *testing.T) {
	o, c := parsed(t, everyFlagSet...)
	scheme := runtime.NewScheme()
	got := managerOptions(o, c, scheme, logr.Discard())
	want := ctrl.Options{
		HealthProbeBindAddress:        "127.0.0.1:1",
		Controller:                    config.Controller{MaxConcurrentReconciles: 5, ReconciliationTimeout: 6 * time.Second, EnableWarmup: new(true)},
		LeaderElection:                true,
		LeaderElectionID:              "memcached-operator.cache.example.com",
		LeaderElectionNamespace:       "l",
		LeaseDuration:                 new(70 * time.Second),
		RenewDeadline:                 new(50 * time.Second),
		RetryPeriod:                   new(10 * time.Second),
		LeaderElectionReleaseOnCancel: true,
		// GracefulShutdownTimeout is not set: controller-runtime's default is longer than the grace period of the pod.
	}
	if got.Scheme != scheme {
		t.Error("the manager does not know the scheme")
	}
	if got.NewCache == nil {
		t.Error("one Memcached that can't be decoded stops the cache")
	}
	// Other tests cover the servers and the cache.
	others := cmpopts.IgnoreFields(ctrl.Options{}, "Scheme", "Metrics", "WebhookServer", "Cache", "NewCache")
	if diff := cmp.Diff(want, got, others, cmpopts.IgnoreUnexported(ctrl.Options{}, logr.Logger{})); diff != "" {
		t.Errorf("the manager's options (-want +got):\n%s", diff)
	}
}

func TestServers(t *testing.T) {
	o, c := parsed(t, everyFlagSet...)
	got := managerOptions(o, c, runtime.NewScheme(), logr.Discard())
	server := got.WebhookServer.(*drainingServer).Server.(*webhook.DefaultServer).Options
	if server.Host != "127.0.0.1" || server.Port != 3 {
		t.Errorf("webhooks are served at %s:%d, want 127.0.0.1:3", server.Host, server.Port)
	}
	if got.Metrics.BindAddress != "127.0.0.1:2" || !got.Metrics.SecureServing || got.Metrics.FilterProvider == nil {
		t.Errorf("metrics are served at %s, secure: %t, to everybody: %t; want 127.0.0.1:2, secure, not to everybody",
			got.Metrics.BindAddress, got.Metrics.SecureServing, got.Metrics.FilterProvider == nil)
	}
	for name, change := range map[string][]func(*tls.Config){"webhooks": server.TLSOpts, "metrics": got.Metrics.TLSOpts} {
		served := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
		for _, change := range change {
			change(served)
		}
		if served.MinVersion != tls.VersionTLS13 || !slices.Equal(served.NextProtos, []string{"http/1.1"}) || served.GetCertificate == nil {
			t.Errorf("%s: TLS from %x, protocols %q, a certificate: %t; want TLS 1.3, only HTTP/1.1, and a certificate",
				name, served.MinVersion, served.NextProtos, served.GetCertificate != nil)
		}
	}

	o, c = parsed(t, "--metrics-bind-address=:2", "--metrics-secure=false")
	if open := metricsOptions(o, c); open.SecureServing || open.FilterProvider != nil || open.TLSOpts != nil {
		t.Errorf("metrics that are for everybody are served with %+v", open)
	}
}

func TestCacheOptions(t *testing.T) {
	o, c := parsed(t, everyFlagSet...)
	got := cacheOptions(o, c)
	if names := slices.Sorted(maps.Keys(got.DefaultNamespaces)); !slices.Equal(names, []string{"a", "b-c"}) {
		t.Errorf("the cache is of the namespaces %q, want a and b-c", names)
	}
	kinds := func(of map[client.Object]cache.ByObject) int { return len(of) }
	if want := kinds(controller.CacheOptions().ByObject) + kinds(c.own.CacheByObject()); kinds(got.ByObject) != want {
		t.Errorf("the cache is of %d kinds by name, want the reconciler's and the certificates', %d", kinds(got.ByObject), want)
	}
	if !got.ReaderFailOnMissingInformer {
		t.Error("the cache starts a watch for whatever is read")
	}

	o, c = parsed(t)
	if got := cacheOptions(o, c); got.DefaultNamespaces != nil {
		t.Errorf("the cache is of the namespaces %v, want all", got.DefaultNamespaces)
	}
}

func TestCertificatesOptions(t *testing.T) {
	o, _ := parsed(t, everyFlagSet...)
	got := certificatesOptions(o)
	if got.AuthorityDuration != 5*time.Hour || got.CertificateDuration != 2*time.Hour {
		t.Errorf("an authority is valid for %s and a certificate for %s, want 5h and 2h", got.AuthorityDuration, got.CertificateDuration)
	}
	if got.RetryInterval != o.recheckInterval {
		t.Errorf("what fails is tried again after %s, want %s", got.RetryInterval, o.recheckInterval)
	}
	if got.Secret != (client.ObjectKey{Namespace: "operator-system", Name: "p-webhook-ca"}) ||
		got.MutatingWebhookConfiguration != "p-mutating-webhook-configuration" || got.ValidatingWebhookConfiguration != "p-validating-webhook-configuration" ||
		!slices.Equal(got.DNSNames, []string{"p-webhook-service.operator-system.svc", "p-controller-manager-metrics-service.operator-system.svc", metricsServerName}) {
		t.Errorf("the prefix does not reach every name: %+v", got)
	}
	o.nameSuffix = "-s"
	got = certificatesOptions(o)
	if got.Secret.Name != "p-webhook-ca-s" ||
		got.MutatingWebhookConfiguration != "p-mutating-webhook-configuration-s" || got.ValidatingWebhookConfiguration != "p-validating-webhook-configuration-s" ||
		!slices.Equal(got.DNSNames, []string{"p-webhook-service-s.operator-system.svc", "p-controller-manager-metrics-service-s.operator-system.svc", metricsServerName}) {
		t.Errorf("the suffix does not reach every name: %+v", got)
	}
}

// clients is a manager that provides only its clients.
type clients struct {
	ctrl.Manager
	client client.Client
	reader client.Reader
}

func (c clients) GetClient() client.Client    { return c.client }
func (c clients) GetAPIReader() client.Reader { return c.reader }

func TestNewReconciler(t *testing.T) {
	o, _ := parsed(t, everyFlagSet...)
	type named struct{ client.Client }
	manager := clients{client: &named{}, reader: &named{}}
	got := newReconciler(o, manager)
	if !got.OmitRunAsUser {
		t.Error("memcached's pods get a user, want none")
	}
	if got.Image != "example.com/memcached:1" || got.RecheckInterval != 4*time.Minute {
		t.Errorf("image %q, looked at again after %s; want example.com/memcached:1 and 4m", got.Image, got.RecheckInterval)
	}
	if got.ProgressDeadline != 3*time.Minute || got.ProgressInterval != 4*time.Second {
		t.Errorf("pods may go %s without progress, and progress waits %s; want 3m and 4s", got.ProgressDeadline, got.ProgressInterval)
	}
	if got.FailureGrace != time.Second {
		t.Errorf("a failure is retried for %s before it is reported, want 1s", got.FailureGrace)
	}
	if got.Client != manager.client || got.APIReader != manager.reader {
		t.Error("it does not read and write as the manager does")
	}
}
