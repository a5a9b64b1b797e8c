package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
	"github.com/example/operator-testbed/e2e/host/home"
)

// readyTimeout is how long nodes, CoreDNS and the storage may take once the control plane answers.
const readyTimeout = 5 * time.Minute

// create does the work of CreateWithConfig.
func (p *Provider) create(ctx context.Context, path string) error {
	if err := prepareEnvironment(); err != nil {
		return err
	}
	c, err := p.begin(ctx)
	if err != nil {
		return err
	}
	if err = p.bringUp(ctx, path); err == nil {
		if p.temporary {
			p.held = c
			return c.say(temporary)
		}
		return c.complete()
	}
	defer c.release()
	if ctx.Err() != nil { // the errors that follow from it say nothing more
		err = context.Cause(ctx)
	}
	return errors.Join(err, p.remove())
}

// begin claims the cluster for somebody who is about to make it, and removes what is left of those that nobody makes or uses any
// more. The error is an *AlreadyUpError if the cluster is up.
func (p *Provider) begin(ctx context.Context) (*claim, error) {
	if err := p.find(ctx); err != nil {
		return nil, err
	}
	if err := p.sweep(ctx); err != nil {
		return nil, err
	}
	c, err := p.claim()
	if err != nil {
		return nil, err
	}
	there, err := p.isThere(ctx)
	switch {
	case errors.Is(err, errForeign):
		err = errors.Join(err, os.RemoveAll(string(p.layout)))
	case err != nil:
	case !there:
		if err = errors.Join(p.guard(), c.say(unfinished)); err == nil {
			return c, nil
		}
	case p.registry: // somebody may have ended it meanwhile
		err = p.restoreRegistry(ctx)
	}
	if err == nil {
		err = &AlreadyUpError{Name: p.name, Kubeconfig: p.GetKubeconfig()}
	}
	if there {
		return nil, errors.Join(err, c.complete())
	}
	c.release()
	return nil, err
}

// bringUp makes the cluster, which is claimed. What it has made of one that fails, stays.
func (p *Provider) bringUp(ctx context.Context, path string) error {
	cluster, err := p.configured(ctx, path)
	if err != nil {
		return err
	}
	image := p.image
	if image == "" {
		if image, err = NodeImage(ctx, p.progress); err != nil {
			return err
		}
	}
	if err := p.start(ctx, cluster, image); err != nil && ctx.Err() == nil {
		return p.withLogs(err)
	}
	return context.Cause(ctx)
}

// configured returns the configuration at path, by default kind/cluster.yaml, and prepares the directory that it mounts.
func (p *Provider) configured(ctx context.Context, path string) (*v1alpha4.Cluster, error) {
	root, err := gorun.Root(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.layout.prepare(); err != nil {
		return nil, err
	}
	cluster, err := configuration(root, cmp.Or(path, filepath.Join(root, "kind", "cluster.yaml")), p.layout.logs())
	if err == nil && !p.hasAddOns() {
		withoutAddOns(cluster, root)
	}
	return cluster, err
}

// start makes the cluster and returns when it is ready. What it made of one that is not, stays.
func (p *Provider) start(ctx context.Context, cluster *v1alpha4.Cluster, image string) error {
	if err := p.containers(ctx, cluster, image); err != nil {
		return err
	}
	config, administrator, err := p.administrator()
	if err != nil {
		return err
	}
	if p.registry {
		if err := p.connectRegistry(ctx, administrator); err != nil {
			return err
		}
	}
	var waitFor []client.ObjectKey
	if p.hasAddOns() {
		waitFor = addOns
		fmt.Fprintln(p.progress, "wait until nodes, CoreDNS and storage are ready")
	} else {
		fmt.Fprintln(p.progress, "wait until nodes are ready")
	}
	waiting, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("it took longer than %v", readyTimeout))
	defer cancel()
	if err := untilReady(waiting, config, len(cluster.Nodes), waitFor); err != nil {
		return err
	}
	p.config = config
	return nil
}

// containers makes the cluster's, with what all clusters share.
func (p *Provider) containers(ctx context.Context, cluster *v1alpha4.Cluster, image string, more ...kindcluster.CreateOption) error {
	release, err := p.layout.share()
	if err != nil {
		return err
	}
	defer release()
	if p.registry {
		if err := startRegistry(ctx, p.progress); err != nil {
			return err
		}
	}
	return p.provision(ctx, cluster, image, more...)
}

// provision has kind make the cluster. Its library cannot be canceled, so when ctx ends, the containers are removed, again and
// again until it gives up, because it may create one more in the meantime.
func (p *Provider) provision(ctx context.Context, cluster *v1alpha4.Cluster, image string, more ...kindcluster.CreateOption) error {
	made := make(chan error, 1)
	go func() {
		made <- p.library().Create(inKind(p.name), append(more,
			kindcluster.CreateWithV1Alpha4Config(cluster),
			kindcluster.CreateWithNodeImage(image),
			kindcluster.CreateWithKubeconfigPath(p.GetKubeconfig()),
			kindcluster.CreateWithRetain(true),
			kindcluster.CreateWithDisplayUsage(false),
			kindcluster.CreateWithDisplaySalutation(false),
		)...)
	}()
	select {
	case err := <-made:
		return err
	case <-ctx.Done():
	}
	again := time.NewTicker(500 * time.Millisecond) // no event says when a container is made
	defer again.Stop()
	for {
		_ = p.library().Delete(inKind(p.name), p.GetKubeconfig()) // the last one, in remove, counts
		select {
		case err := <-made:
			return errors.Join(context.Cause(ctx), err)
		case <-again.C:
		}
	}
}

// withLogs adds to an error where the logs of what went wrong are.
func (p *Provider) withLogs(err error) error {
	directory, failed := os.MkdirTemp(home.Temporary(), inKind(p.name)+"-logs-")
	if failed != nil {
		return err
	}
	_ = p.library().CollectLogs(inKind(p.name), directory) // what there is of them
	return fmt.Errorf("%w: see the logs in %s", err, directory)
}

// prepare makes the directory for the logs, and in it the audit log, so that it is the user's although root writes it. What is there is
// of a cluster whose containers somebody else removed.
func (l layout) prepare() error {
	if err := errors.Join(os.RemoveAll(l.logs()), os.RemoveAll(l.kubeconfig()), os.RemoveAll(home.KubectlCache(l.kubeconfig()))); err != nil {
		return err
	}
	if err := os.MkdirAll(l.logs(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(l.auditLog(), nil, 0o600)
}
