package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	webhookv1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/internal/webhook/v1alpha1"
)

// newWebhookServer returns the server of the webhooks, or nil if they are turned off. It reads its certificate from the files
// tls.crt and tls.key, and reads them again when they change.
func newWebhookServer(o options) (webhook.Server, error) {
	if !o.webhooks {
		return nil, nil
	}
	if o.certificatePath == "" {
		return nil, errors.New("the webhooks need a certificate: give the directory of tls.crt and tls.key with --webhook-cert-path, or turn the webhooks off with ENABLE_WEBHOOKS=false")
	}
	host, text, err := net.SplitHostPort(o.webhookAddress)
	if err != nil {
		return nil, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: o.certificatePath}), nil
}

// serveWebhooks lets the manager serve the webhooks, and be ready when they can be called.
func serveWebhooks(manager ctrl.Manager, maxTotalSize int64) error {
	return errors.Join(
		webhookv1alpha1.SetupWebhookWithManager(manager, maxTotalSize),
		manager.AddReadyzCheck("webhooks", manager.GetWebhookServer().StartedChecker()),
	)
}
