package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/tutorial/12-certificates/internal/certificates"
	webhookv1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/internal/webhook/v1alpha1"
)

// namePrefix is how the names of the operator's own objects begin: as config/default says.
const namePrefix = "operator-"

// webhooks are where the webhooks are served and how their certificate is made. The zero webhooks are none.
type webhooks struct {
	host string
	port int

	certificates *certificates.Options
	source       *certificates.Source
}

// newWebhooks returns the webhooks that the options ask for.
func newWebhooks(o options) (webhooks, error) {
	if !o.webhooks {
		return webhooks{}, nil
	}
	if o.namespace == "" {
		return webhooks{}, errors.New("the webhooks need to know the namespace that the operator is installed in: set POD_NAMESPACE to it, or turn them off with ENABLE_WEBHOOKS=false")
	}
	host, text, err := net.SplitHostPort(o.webhookAddress)
	if err != nil {
		return webhooks{}, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return webhooks{}, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	service := func(name string) string { return fmt.Sprintf("%s%s.%s.svc", namePrefix, name, o.namespace) }
	return webhooks{
		host: host, port: port,
		certificates: &certificates.Options{
			Secret:                         client.ObjectKey{Namespace: o.namespace, Name: namePrefix + "webhook-ca"},
			MutatingWebhookConfiguration:   namePrefix + "mutating-webhook-configuration",
			ValidatingWebhookConfiguration: namePrefix + "validating-webhook-configuration",
			DNSNames:                       []string{service("webhook-service"), service("controller-manager-metrics-service")},
			AuthorityDuration:              o.authorityDuration,
			CertificateDuration:            o.certificateDuration,
		},
		source: &certificates.Source{},
	}, nil
}

// cached says which Secret and which webhook configurations the cache holds: those of the operator.
func (w webhooks) cached() map[client.Object]cache.ByObject {
	if w.certificates == nil {
		return nil
	}
	return w.certificates.CacheByObject()
}

// tlsOptions make servers show the certificate. Without webhooks, a server makes one that nobody can check.
func (w webhooks) tlsOptions() []func(*tls.Config) {
	if w.source == nil {
		return nil
	}
	return []func(*tls.Config){func(config *tls.Config) { config.GetCertificate = w.source.GetCertificate }}
}

// serve lets the manager serve the webhooks, and be ready when they can be called.
func (w webhooks) serve(manager ctrl.Manager, maxTotalSize int64) error {
	if w.source == nil {
		return nil
	}
	// The server answers nobody before it has a certificate.
	started := manager.GetWebhookServer().StartedChecker()
	ready := func(request *http.Request) error {
		if err := w.source.Check(request); err != nil {
			return err
		}
		return started(request)
	}
	// Every replica is at work on its certificate.
	reconciler := &certificates.Reconciler{Client: manager.GetClient(), Options: *w.certificates, Source: w.source}
	return errors.Join(
		webhookv1alpha1.SetupWebhookWithManager(manager, maxTotalSize),
		manager.AddReadyzCheck("webhooks", ready),
		reconciler.SetupWithManager(manager),
	)
}
