package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/internal/rollout"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

func isComponent(process string) bool { return slices.Contains(components, process) }

// isServer reports whether a component is one that the others talk to.
func isServer(component string) bool { return component == Etcd || component == KubeAPIServer }

// outlived returns the components that a reset restarts: each that does not
// run, and each that is older than etcd or kube-apiserver, because client-go
// lets a watch that broke wait longer with every outage, up to a minute, and
// forgets none for two minutes.
func outlived(processes []supervisor.ProcessStatus) []string {
	var outage time.Time
	broken := false
	for _, p := range processes {
		if isServer(p.Name) {
			broken = broken || p.State != supervisor.Running
			if p.Started.After(outage) {
				outage = p.Started
			}
		}
	}
	var names []string
	for _, p := range processes {
		if isComponent(p.Name) && !isServer(p.Name) && (broken || p.State != supervisor.Running || p.Started.Before(outage)) {
			names = append(names, p.Name)
		}
	}
	return names
}

// running has a component run, in whatever state it was.
func (p *Provider) running(processes []supervisor.ProcessStatus, component string) step {
	return func(ctx context.Context) error {
		if slices.ContainsFunc(processes, func(p supervisor.ProcessStatus) bool {
			return p.Name == component && p.State == supervisor.Paused
		}) {
			return p.sup.Resume(ctx, component)
		}
		return p.sup.StartAgain(ctx, component)
	}
}

// stop stops the components.
func (p *Provider) stop(ctx context.Context, names []string) (err error) {
	for _, name := range names {
		err = errors.Join(err, p.sup.Stop(ctx, name))
	}
	return err
}

// restart starts the components, if there are any, and waits until all of them have made a Deployment Available together. A reset
// removes that Deployment.
func (p *Provider) restart(names []string) step {
	return func(ctx context.Context) error {
		if len(names) == 0 {
			return nil
		}
		c, err := watch.NewClient(p.config)
		for _, name := range names {
			err = errors.Join(err, p.sup.StartAgain(ctx, name))
		}
		if err != nil {
			return err
		}
		deployment := watch.NewDeployment("after-repair", "after-repair", 1)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deployment.Namespace}}
		err = errors.Join(c.Create(ctx, namespace), c.Create(ctx, deployment))
		if err == nil {
			_, err = rollout.Available(ctx, p.config, client.ObjectKeyFromObject(deployment))
		}
		if err != nil {
			return fmt.Errorf("wait until the Deployment %s is Available: %w", deployment.Name, err)
		}
		return nil
	}
}
