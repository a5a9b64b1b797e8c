package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
)

// readyTimeout is how long nodes, CoreDNS and the storage may take once the control plane answers.
const readyTimeout = 5 * time.Minute

// create does the work of CreateWithConfig.
func (p *Provider) create(ctx context.Context, path string) error {
	if err := p.find(ctx); err != nil {
		return err
	}
	up, err := p.up(ctx)
	if err != nil {
		return err
	}
	if up && p.registry { // somebody may have ended it meanwhile
		err = p.restoreRegistry(ctx)
	}
	if err != nil {
		return err
	}
	if up {
		return &AlreadyUpError{Name: p.name, Kubeconfig: p.GetKubeconfig()}
	}
	root, err := gorun.Root(ctx)
	if err != nil {
		return err
	}
	if path == "" {
		path = filepath.Join(root, "kind", "cluster.yaml")
	}
	cluster, err := configuration(root, path, p.layout.logs())
	if err != nil {
		return err
	}
	image := p.image
	if image == "" {
		if image, err = nodeImage().find(ctx, engine(p.progress), p.progress); err != nil {
			return err
		}
	}
	if p.registry {
		if err := startRegistry(ctx, p.progress); err != nil {
			return err
		}
	}
	if err := p.layout.prepare(); err != nil {
		return errors.Join(err, p.remove())
	}
	if err = p.start(ctx, cluster, image); err == nil {
		return nil
	}
	if ctx.Err() != nil { // what that did to the rest is no news
		return errors.Join(context.Cause(ctx), p.remove())
	}
	return errors.Join(p.withLogs(err), p.remove())
}

// start makes the cluster and returns when it is ready. What it made of one that is not, stays.
func (p *Provider) start(ctx context.Context, cluster *v1alpha4.Cluster, image string) error {
	if err := p.provision(ctx, cluster, image); err != nil {
		return err
	}
	config, client, err := p.administrator()
	if err != nil {
		return err
	}
	if p.registry {
		if err := p.connectRegistry(ctx, client); err != nil {
			return err
		}
	}
	fmt.Fprintln(p.progress, "wait until nodes, CoreDNS and storage are ready")
	waiting, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("it took longer than %v", readyTimeout))
	defer cancel()
	if err := untilReady(waiting, client, len(cluster.Nodes)); err != nil {
		return err
	}
	p.config = config
	return nil
}

// provision has kind make the cluster. Its library knows no end before its own, so when ctx ends, the containers are taken away
// from under it, again and again until it has given up: it may make one more meanwhile.
func (p *Provider) provision(ctx context.Context, cluster *v1alpha4.Cluster, image string, more ...kindcluster.CreateOption) (err error) {
	afterwards := p.claimNetwork(ctx)
	defer func() { err = errors.Join(err, afterwards()) }()
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
	again := time.NewTicker(500 * time.Millisecond) // nothing tells when a container is made
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
	folder, failed := os.MkdirTemp("", inKind(p.name)+"-logs-")
	if failed != nil {
		return err
	}
	_ = p.library().CollectLogs(inKind(p.name), folder) // what there is of them
	return fmt.Errorf("%w: look into the logs in %s", err, folder)
}

// prepare makes the folder, and in it the audit log, so that it is the user's although root writes it.
func (l layout) prepare() error {
	if err := os.RemoveAll(string(l)); err != nil { // of a cluster whose containers somebody else removed
		return err
	}
	if err := os.MkdirAll(l.logs(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(l.auditLog(), nil, 0o600)
}
