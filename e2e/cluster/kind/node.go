package kind

import (
	"context"
)

// StopNode kills a node's container, as a machine that loses its power.
func (p *Provider) StopNode(ctx context.Context, node string) error {
	_, err := docker(ctx, "kill", node) // the error names both
	return err
}

// StartNode starts a node that [Provider.StopNode] has stopped.
func (p *Provider) StartNode(ctx context.Context, node string) error {
	_, err := docker(ctx, "start", node)
	return err
}
