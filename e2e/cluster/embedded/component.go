package embedded

import (
	"context"
	"fmt"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Component is a handle on one process of a cluster, to break it and to mend
// it. Its constant (KubeAPIServer, ...) is its name. All do their work again as
// soon as they run.
type Component struct {
	provider *Provider
	name     string
}

// Component returns a handle on a component of the cluster, which must be up.
func (p *Provider) Component(name string) *Component {
	return &Component{provider: p, name: name}
}

// Kill ends the process by SIGKILL, as if it had crashed. It starts again
// after a moment.
func (c *Component) Kill(ctx context.Context) error {
	return c.do(ctx, "kill", (*supervisor.Supervisor).Kill)
}

// Stop ends the process; it stays ended until Start.
func (c *Component) Stop(ctx context.Context) error {
	return c.do(ctx, "stop", (*supervisor.Supervisor).Stop)
}

// Start starts the process if it doesn't run.
func (c *Component) Start(ctx context.Context) error {
	return c.do(ctx, "start", (*supervisor.Supervisor).StartAgain)
}

// Restart stops the process and starts it again.
func (c *Component) Restart(ctx context.Context) error {
	return c.do(ctx, "restart", (*supervisor.Supervisor).Restart)
}

// Pause holds the process where it is: it answers nothing, and its connections
// stay open.
func (c *Component) Pause(ctx context.Context) error {
	return c.do(ctx, "pause", (*supervisor.Supervisor).Pause)
}

// Resume lets a paused process go on.
func (c *Component) Resume(ctx context.Context) error {
	return c.do(ctx, "resume", (*supervisor.Supervisor).Resume)
}

func (c *Component) do(ctx context.Context, what string, act func(*supervisor.Supervisor, context.Context, string) error) error {
	sup := c.provider.sup
	if sup == nil {
		return fmt.Errorf("%s %s: %w", what, c.name, &NotUpError{Name: c.provider.name})
	}
	if err := act(sup, ctx, c.name); err != nil {
		return fmt.Errorf("%s %s of the embedded cluster %s: %w", what, c.name, c.provider.name, err)
	}
	return nil
}
