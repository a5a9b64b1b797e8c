package embedded

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
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

// haveRun has a component run, in whatever state it was.
func (p *Provider) haveRun(ctx context.Context, processes []supervisor.ProcessStatus, component string) error {
	act := (*supervisor.Supervisor).StartAgain
	if slices.ContainsFunc(processes, func(p supervisor.ProcessStatus) bool {
		return p.Name == component && p.State == supervisor.Paused
	}) {
		act = (*supervisor.Supervisor).Resume
	}
	if err := act(p.sup, ctx, component); err != nil {
		return fmt.Errorf("have %s run: %w", component, err)
	}
	return nil
}

// stopOutlived stops the components that a reset restarts, and returns them.
func (p *Provider) stopOutlived(ctx context.Context, processes []supervisor.ProcessStatus) ([]string, error) {
	names := outlived(processes)
	for _, name := range names {
		if err := p.sup.Stop(ctx, name); err != nil {
			return nil, fmt.Errorf("stop %s: %w", name, err)
		}
	}
	return names, nil
}

// restart starts the components and waits until they have made a Deployment Available together. A reset removes that Deployment.
func (p *Provider) restart(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := p.sup.StartAgain(ctx, name); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
	}
	c, err := watch.NewClient(p.config)
	if err != nil {
		return err
	}
	const name = "after-repair"
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, trialDeployment(name)} {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	_, err = watch.Object(ctx, c, &appsv1.DeploymentList{}, client.ObjectKey{Namespace: name, Name: name}, func(d *appsv1.Deployment) bool {
		return d.Status.AvailableReplicas == 1
	})
	if err != nil {
		return fmt.Errorf("wait until the Deployment %s is Available: %w", name, err)
	}
	return nil
}

func trialDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "trial"}}},
			},
		},
	}
}
