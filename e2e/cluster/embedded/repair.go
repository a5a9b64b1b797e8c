package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/internal/until"
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
// kwok is one of them, too, while it waits until its predecessor's claim on the
// nodes expires.
func (p *Provider) stopOutlived(ctx context.Context, etcd *etcdClient, processes []supervisor.ProcessStatus) ([]string, error) {
	names := outlived(processes)
	at := slices.IndexFunc(processes, func(p supervisor.ProcessStatus) bool { return p.Name == Kwok })
	if at >= 0 && processes[at].Restarts > 0 && !slices.Contains(names, Kwok) {
		now, _, err := etcd.read(ctx)
		if err != nil {
			return nil, err
		}
		if ok, err := claimed(now, processes[at].Started); err != nil {
			return nil, err
		} else if !ok {
			names = append(names, Kwok)
		}
	}
	for _, name := range names {
		if err := p.sup.Stop(ctx, name); err != nil {
			return nil, fmt.Errorf("stop %s: %w", name, err)
		}
	}
	return names, nil
}

// claimed reports whether a kwok that runs since a time plays every node.
func claimed(now contents, since time.Time) (bool, error) {
	leases, err := decodeAll[*coordinationv1.Lease](now, nodeLeaseKeys)
	if err != nil {
		return false, err
	}
	held := map[string]bool{}
	for _, lease := range leases {
		held[lease.Name] = lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(since)
	}
	for key := range now {
		if node, ok := strings.CutPrefix(key, nodeKeys); ok && !held[node] {
			return false, nil
		}
	}
	return true, nil
}

// restart starts the components and returns when a Deployment has been
// through the hands of all of them. It is not removed again.
func (p *Provider) restart(ctx context.Context, etcd *etcdClient, names []string) error {
	if slices.Contains(names, Kwok) {
		if err := unclaim(ctx, etcd); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := p.sup.StartAgain(ctx, name); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
	}
	clients, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return err
	}
	const name = "after-repair"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := clients.AppsV1().Deployments(name).Create(ctx, trialDeployment(name), metav1.CreateOptions{}); err != nil {
		return err
	}
	c, err := watch.NewClient(p.config)
	if err != nil {
		return err
	}
	return until.Object(ctx, c, &appsv1.DeploymentList{}, client.ObjectKey{Namespace: name, Name: name}, func(d *appsv1.Deployment) bool {
		return d.Status.AvailableReplicas == 1
	})
}

// unclaim lets the next kwok play the nodes at once.
func unclaim(ctx context.Context, etcd *etcdClient) error {
	now, _, err := etcd.read(ctx)
	if err != nil {
		return err
	}
	var changes []change
	for key := range now {
		if strings.HasPrefix(key, nodeLeaseKeys) {
			changes = append(changes, change{key: key})
		}
	}
	return etcd.apply(ctx, changes)
}

func trialDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "trial"}}},
			},
		},
	}
}
