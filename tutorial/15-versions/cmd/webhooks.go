package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

// newWebhookServer returns the server of the webhooks, or nil if they are turned off. It reads its certificate from the files
// tls.crt and tls.key, and reads them again when they change.
func newWebhookServer(address, certificatePath string) (webhook.Server, error) {
	if os.Getenv("ENABLE_WEBHOOKS") == "false" {
		return nil, nil
	}
	if certificatePath == "" {
		return nil, errors.New("the webhooks need a certificate: give the directory of tls.crt and tls.key with --webhook-cert-path, or turn the webhooks off with ENABLE_WEBHOOKS=false")
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	return webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: certificatePath}), nil
}

// serveWebhooks lets the manager convert Memcacheds, and be ready when the API server can ask it to. The builder finds the conversion
// functions of the hub and of the other versions in the manager's scheme, and serves them at /convert.
func serveWebhooks(manager ctrl.Manager) error {
	return errors.Join(
		ctrl.NewWebhookManagedBy(manager, &cachev1beta1.Memcached{}).Complete(),
		manager.AddReadyzCheck("webhooks", manager.GetWebhookServer().StartedChecker()),
	)
}
