package runner

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner/internal/forwarder"
)

// RemoveWebhooks deletes the webhook configurations that [Start] has installed: for an operator that stops while its cluster stays up,
// where requests would otherwise be refused because no webhook answers. CustomResourceDefinitions stay as they are.
func (o *Operator) RemoveWebhooks(ctx context.Context) error {
	if !o.served {
		return nil
	}
	for _, configuration := range o.options.Manifests.Select(manifest.WebhookConfigurations...) {
		if err := client.IgnoreNotFound(o.admin.Delete(ctx, configuration)); err != nil {
			return fmt.Errorf("removing %s %s: %w", configuration.GetKind(), configuration.GetName(), err)
		}
	}
	return nil
}

// forwarder is the name of the operator's forwarder.
func (o *Operator) forwarder() string { return o.options.Name + "-webhooks" }

// settle sets which replicas the forwarder can choose from: see [forwarder.Settle].
func (o *Operator) settle(ctx context.Context) error {
	if !o.served {
		return nil
	}
	var endpoints []forwarder.Endpoint
	for _, r := range o.replicas {
		if r.serving {
			endpoints = append(endpoints, forwarder.Endpoint{Process: r.name, Webhook: r.at.webhook, Health: r.at.health, Leaving: r.leaving, Withdrawn: r.withdrawn})
		}
	}
	return forwarder.Settle(ctx, o.options.Supervisor, o.forwarder(), endpoints)
}
