package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/rollout"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// BuildImage builds an operator's image as its users do: by `make docker-build` in the operator's directory, with the command of a
// container engine. image is its name. The output of the build is part of the error.
func BuildImage(ctx context.Context, directory, engine, image string) error {
	build := exec.CommandContext(ctx, "make", "docker-build", "IMG="+image, "CONTAINER_TOOL="+engine)
	build.Dir = directory
	// Without the flags of an outer make.
	build.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the image %s in %s: %w\n%s", image, directory, err, bytes.TrimSpace(out))
	}
	return nil
}

// DeployOptions say how an operator is deployed.
type DeployOptions struct {
	// Config is how an administrator reaches the cluster.
	Config *rest.Config
	// Manifests install the operator. Their CustomResourceDefinitions must be there already.
	Manifests manifest.Set
	// Image is what the manager's pods run, in place of what the manifests say, unless it is empty. The nodes have it.
	Image string
	// Replicas is how many pods the manager has; zero means as many as the manifests say.
	Replicas int
	// Args come after those of the manifests. Env are variables ("NAME=value") that take precedence over those of the manifests.
	Args, Env []string
	// Patience are arguments that let a manager survive a slow API server; the timeouts of its probes are raised with them. If there
	// are none, it runs as the manifests say.
	Patience []string
	// Trial is an object to call the operator's webhooks with until they answer, in the namespace default; nil if there are none.
	Trial *unstructured.Unstructured
}

// Deployed is an operator that runs as its users run it: as an image, in pods.
type Deployed struct {
	// Manager names its Deployment.
	Manager client.ObjectKey

	config *rest.Config
	added  []*unstructured.Unstructured
}

// Deploy deploys an operator, and waits until all its pods are available and its webhooks answer. If that fails, the error says what
// the pods report, and Deploy removes what it has deployed.
func Deploy(ctx context.Context, o DeployOptions) (*Deployed, error) {
	c, err := client.NewWithWatch(o.Config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	deployment, err := o.workload()
	if err != nil {
		return nil, err
	}
	deployed := &Deployed{
		Manager: client.ObjectKeyFromObject(deployment), config: o.Config,
		// The webhooks are the first to go, and so the last in the list.
		added: append(o.Manifests.Select(manifest.Workloads...), o.Manifests.Select(manifest.WebhookConfigurations...)...),
	}
	objects := append(o.Manifests.Without(manifest.CRD, deployment.GetKind()), deployment)
	ctx, cancel := context.WithTimeoutCause(ctx, deployTimeout, fmt.Errorf("it took longer than %v", deployTimeout))
	defer cancel()
	err = install.Apply(ctx, c, objects)
	if err == nil {
		_, err = rollout.Available(ctx, o.Config, deployed.Manager)
	}
	if err == nil && o.Trial != nil {
		err = untilAnswered(ctx, c, o.Trial)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("deploying the operator %s: %w", deployed.Manager, err), deployed.Remove(context.WithoutCancel(ctx)))
	}
	return deployed, nil
}

// Remove removes what only an operator that is deployed has: its Deployment and pods, and the configurations of webhooks that nothing
// would answer.
func (d *Deployed) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deployTimeout, fmt.Errorf("it took longer than %v", deployTimeout))
	defer cancel()
	// A Deployment is gone when its pods are.
	return install.Remove(ctx, d.config, d.added, client.PropagationPolicy(metav1.DeletePropagationForeground))
}

// workload returns the manager's Deployment with what the options say.
func (o DeployOptions) workload() (*unstructured.Unstructured, error) {
	deployment, container, err := o.Manifests.Deployment()
	if err != nil {
		return nil, err
	}
	container.Image = cmp.Or(o.Image, container.Image)
	container.Args = append(container.Args, o.Args...)
	if o.Replicas > 0 {
		deployment.Spec.Replicas = new(int32(o.Replicas))
	}
	manifest.SetEnv(container, o.Env...)
	if len(o.Patience) > 0 {
		container.Args = append(container.Args, o.Patience...)
		for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
			if probe != nil {
				probe.TimeoutSeconds = deployedProbeSeconds
			}
		}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	return &unstructured.Unstructured{Object: object}, err
}

// untilAnswered tries until webhooks are answered. The way from the API server to a pod that is ready is made by kube-proxy, a
// moment later, which nobody can watch.
func untilAnswered(ctx context.Context, c client.Client, trial *unstructured.Unstructured) error {
	namespaced, err := c.IsObjectNamespaced(trial)
	if err != nil {
		return err
	}
	if namespaced {
		trial = trial.DeepCopy()
		trial.SetNamespace(metav1.NamespaceDefault)
	}
	for range watch.Poll(ctx, askAgain) {
		if err = c.Create(ctx, trial.DeepCopy(), client.DryRunAll); err == nil {
			return nil
		}
		if ctx.Err() == nil && !strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("asking the webhooks: %w", err)
		}
	}
	return errors.Join(context.Cause(ctx), err)
}
