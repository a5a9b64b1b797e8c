package framework

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// imagesVariable lists archives of images: see the package's comment.
const imagesVariable = "TESTBED_IMAGES"

// Deploy deploys the operator as an image with that many pods until the test is done, sets s.Deployed, and returns when the pods are
// available. Stop the process first: see [runner.Operator.Stop]. It skips the test if the operator is not deployed as an image, because
// pods are simulated, images can't be loaded onto the nodes, or $OPERATOR is an executable.
func (s *Scope) Deploy(ctx context.Context, replicas int) {
	s.Helper()
	s.needs(s.deploy != nil, "the operator is not deployed as an image here: its executable was given in $OPERATOR, or the nodes of this cluster run no image that is brought to them; make e2e shows it")
	s.deployFrom(ctx, s.manifests, replicas)
}

func (s *Scope) deployFrom(ctx context.Context, m manifest.Set, replicas int) {
	s.Helper()
	deployed, err := s.deploy(ctx, m, replicas, nil)
	s.must(err)
	s.Deployed, s.Webhooks = deployed, m.HasWebhooks()
	s.Cleanup(func() { s.check(deployed.Remove(context.WithoutCancel(ctx))) })
}

// Install runs the operator as other manifests install it, until the test is done: as an image if s.Image is set, and otherwise as a
// process with the changes.
func (s *Scope) Install(ctx context.Context, m manifest.Set, changes ...runner.Change) {
	s.Helper()
	if s.Image != "" {
		s.must(s.Operator.Stop(ctx))
		s.deployFrom(ctx, m, 1)
		return
	}
	s.Cleanup(func() { s.Reinstall(context.WithoutCancel(ctx)) })
	s.must(s.Operator.Install(ctx, m, changes...))
}

// Reinstall runs the process as the suite's own manifests install it, and restores the CustomResourceDefinitions.
func (s *Scope) Reinstall(ctx context.Context) {
	s.Helper()
	s.check(s.Operator.Install(ctx, s.manifests))
}

// deploys reports whether the operator is deployed as an image, which an executable in $OPERATOR is not in.
func (s *Suite) deploys() bool {
	return s.cluster.Capabilities().LoadImage != nil && s.options.Project != "" && os.Getenv("OPERATOR") == ""
}

// inPods reports whether the operator under test always runs in pods: see $TESTBED_IMAGES.
func (s *Suite) inPods() bool { return os.Getenv(imagesVariable) != "" }

// loadImages loads the archives that $TESTBED_IMAGES lists.
func (s *Suite) loadImages(ctx context.Context) error {
	if !s.inPods() {
		return nil
	}
	load := s.cluster.Capabilities().LoadImageArchive
	if load == nil {
		return fmt.Errorf("%s is set, and this cluster has no nodes that an image can be loaded onto: use CLUSTER=kind", imagesVariable)
	}
	for _, archive := range filepath.SplitList(os.Getenv(imagesVariable)) {
		if err := load(ctx, archive); err != nil {
			return err
		}
	}
	return nil
}

// pods returns how the operator runs in pods, or nil if it is a process.
func (s *Suite) pods() (*runner.InPods, error) {
	if !s.inPods() {
		return nil, nil
	}
	signal := s.cluster.Capabilities().Signal
	pods := &runner.InPods{
		Kubeconfig: s.cluster.GetKubeconfig(),
		Kill:       func(ctx context.Context, pod *corev1.Pod) error { return signal(ctx, pod, "", "KILL") },
	}
	var err error
	if s.manifests.HasWebhooks() {
		pods.Trial, err = s.sample()
	}
	return pods, err
}

// image returns the name of the operator's image.
func (s *Suite) image() string { return "operator-testbed/operator-of-" + s.options.Name + ":suite" }

// deploy deploys the operator as its image, which is on the nodes.
func (s *Suite) deploy(ctx context.Context, m manifest.Set, replicas int, patience []string) (*runner.Deployed, error) {
	trial, err := s.sample()
	if err != nil {
		return nil, err
	}
	return runner.Deploy(ctx, runner.DeployOptions{
		Config: s.config, Manifests: m, Image: s.image(), Replicas: replicas, Env: s.operand, Patience: patience, Trial: trial,
	})
}

// sample returns the object to send to webhooks, or nil.
func (s *Suite) sample() (*unstructured.Unstructured, error) {
	if s.options.Sample == "" {
		return nil, nil
	}
	objects, err := manifest.Load(s.options.Sample)
	if err != nil {
		return nil, err
	}
	if len(objects.Objects()) != 1 {
		return nil, fmt.Errorf("%s has %d objects, expected one to ask webhooks about", s.options.Sample, len(objects.Objects()))
	}
	return objects.Objects()[0], nil
}

// handOver stops the process and deploys the operator as an image, if it is deployed at all.
func (s *Suite) handOver(ctx context.Context) error {
	if !s.deploys() {
		return nil
	}
	if err := s.operator.Stop(ctx); err != nil {
		return err
	}
	var err error
	s.deployed, err = s.deploy(ctx, s.manifests, 1, s.options.Patience)
	return err
}

// RestartAfterwards restarts the operator with its original configuration when the test of the current step is done. Call it before you
// change how the operator runs.
func (s *Scope) RestartAfterwards(ctx context.Context) {
	s.Cleanup(func() { s.check(s.Operator.Restart(context.WithoutCancel(ctx))) })
}
