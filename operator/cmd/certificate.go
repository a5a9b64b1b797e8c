package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/operator/internal/certificates"
	"github.com/example/operator-testbed/operator/internal/leadership"
	webhookv1alpha1 "github.com/example/operator-testbed/operator/internal/webhook/v1alpha1"
)

// The names of the operator's own objects, without what the kustomization adds: see options.nameOf.
const (
	authoritySecret         = "webhook-ca"
	mutatingConfiguration   = "mutating-webhook-configuration"
	validatingConfiguration = "validating-webhook-configuration"
	webhookService          = "webhook-service"
	metricsService          = "controller-manager-metrics-service"
)

// metricsServerName is a name that the certificate has in every installation, whatever the prefix and the namespace are. Prometheus
// verifies it: see config/prometheus.
const metricsServerName = "metrics.memcached-operator.cache.example.com"

// certificate is where the servers' certificate comes from: the operator itself, files, or neither.
type certificate struct {
	own    *certificates.Options
	source *certificates.Source
	files  *certwatcher.CertWatcher
	// clock is the real clock if nil. It says whether the certificate in the files has expired.
	clock clock.PassiveClock
}

// newCertificate returns the certificate for the options. Without webhooks there is none, and the metrics server creates a
// self-signed certificate that no client can verify.
func newCertificate(o options) (certificate, error) {
	switch w := o.webhooks; {
	case !w.enabled:
		return certificate{}, nil
	case w.certPath != "":
		files, err := certwatcher.New(filepath.Join(w.certPath, "tls.crt"), filepath.Join(w.certPath, "tls.key"))
		if err != nil {
			return certificate{}, fmt.Errorf("read the certificate in --webhook-cert-path: %w", err)
		}
		return certificate{files: files}, nil
	default:
		return certificate{own: certificatesOptions(o), source: &certificates.Source{}}, nil
	}
}

func certificatesOptions(o options) *certificates.Options {
	host := func(service string) string { return fmt.Sprintf("%s.%s.svc", o.nameOf(service), o.namespace) }
	return &certificates.Options{
		Secret:                         client.ObjectKey{Namespace: o.namespace, Name: o.nameOf(authoritySecret)},
		MutatingWebhookConfiguration:   o.nameOf(mutatingConfiguration),
		ValidatingWebhookConfiguration: o.nameOf(validatingConfiguration),
		DNSNames:                       []string{host(webhookService), host(metricsService), metricsServerName},
		AuthorityDuration:              o.webhooks.authorityDuration,
		CertificateDuration:            o.webhooks.certificateDuration,
		RetryInterval:                  o.recheckInterval,
	}
}

// tlsOptions returns the TLS options of the servers that present the certificate.
func (c certificate) tlsOptions() []func(*tls.Config) {
	return []func(*tls.Config){func(config *tls.Config) {
		config.MinVersion = tls.VersionTLS13
		// With HTTP/2, one client could keep a server busy with requests that it cancels (CVE-2023-44487), and nothing here gains
		// from it.
		config.NextProtos = []string{"http/1.1"}
		switch {
		case c.files != nil:
			config.GetCertificate = c.files.GetCertificate
		case c.source != nil:
			config.GetCertificate = c.source.GetCertificate
		}
	}}
}

// check is for a readiness probe: it fails while no API server would accept the certificate. Whether an API server trusts a
// certificate from files is known only to what has issued it.
func (c certificate) check(request *http.Request) error {
	if c.source != nil {
		return c.source.Check(request)
	}
	current, err := c.files.GetCertificate(nil)
	if err != nil {
		return err
	}
	return certificates.CheckNotExpired(current, c.clock)
}

// serveWebhooks adds the webhooks to the manager, with their certificate, and makes it ready only when they can be called.
func serveWebhooks(manager ctrl.Manager, o options, c certificate) error {
	if !o.webhooks.enabled {
		return nil
	}
	// The server completes no TLS handshake before it has a certificate.
	started := manager.GetWebhookServer().StartedChecker()
	ready := func(request *http.Request) error {
		if err := c.check(request); err != nil {
			return err
		}
		return started(request)
	}
	if err := errors.Join(
		webhookv1alpha1.SetupMemcachedWebhookWithManager(manager, o.webhooks.maxTotalSize),
		manager.AddReadyzCheck("webhooks", ready),
	); err != nil {
		return err
	}
	if c.files != nil {
		return manager.Add(c.files)
	}
	// Every replica maintains its own certificate, so this client writes without the lease.
	unfenced, err := leadership.Unfenced(manager)
	if err != nil {
		return err
	}
	reconciler := &certificates.Reconciler{Client: unfenced, Options: *c.own, Source: c.source}
	return reconciler.SetupWithManager(manager)
}
