package kind

import (
	"context"
	"fmt"
)

// StopNode kills a node's container, as a machine that loses its power.
func (p *Provider) StopNode(ctx context.Context, node string) error {
	if _, err := docker(ctx, "kill", node); err != nil {
		return fmt.Errorf("stop the node %s: %w", node, err)
	}
	return nil
}

// StartNode starts a node that [Provider.StopNode] has stopped.
func (p *Provider) StartNode(ctx context.Context, node string) error {
	if _, err := docker(ctx, "start", node); err != nil {
		return fmt.Errorf("start the node %s: %w", node, err)
	}
	return nil
}
