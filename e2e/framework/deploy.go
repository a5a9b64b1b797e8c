package framework

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

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
func (s *Suite) sample() (client.Object, error) {
	if s.options.Sample == "" {
		return nil, nil
	}
	objects, err := manifest.Render(s.options.Sample)
	if err != nil {
		return nil, err
	}
	if len(objects.Objects()) != 1 {
		return nil, fmt.Errorf("%s has %d objects, expected one to ask webhooks about", s.options.Sample, len(objects.Objects()))
	}
	sample := objects.Objects()[0]
	sample.SetNamespace("default")
	return sample, nil
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
