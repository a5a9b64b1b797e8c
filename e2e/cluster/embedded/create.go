package embedded

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/example/operator-testbed/e2e/cluster/internal/provider"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// create does the work of Create.
func (p *Provider) create(ctx context.Context) error {
	l, err := layoutOf(p.name)
	if err != nil {
		return err
	}
	p.layout = l
	if p.options.version != Version && p.options.version != PreviousVersion {
		return fmt.Errorf("it runs Kubernetes %s or %s, not %s", Version, PreviousVersion, p.options.version)
	}
	crds, err := readCRDs(p.options.crds)
	if err != nil {
		return err
	}
	assets := p.options.assets
	if assets == "" {
		assets, err = ComponentsOf(ctx, p.options.version, p.options.progress)
	} else {
		err = complete(assets)
	}
	if err != nil {
		return err
	}
	stores, err := p.options.storesDir()
	if err != nil {
		return err
	}
	store := "" // of the version that is emulated there is none
	if p.options.emulated == "" {
		if store, err = ensureStore(ctx, stores, assets); err != nil {
			return err
		}
	}
	sup, err := supervisor.Start(ctx, supervisor.Options{Dir: string(l)})
	if errors.Is(err, supervisor.ErrRunning) {
		return &AlreadyUpError{Name: p.name, Kubeconfig: l.kubeconfig()}
	}
	if err != nil {
		return err
	}
	s := &starter{name: p.name, options: p.options, layout: l, assets: assets, crds: crds, sup: sup, store: store}
	err = s.start(ctx)
	if err == nil {
		p.config, err = provider.RestConfig(l.kubeconfig())
	}
	if errors.Is(err, syscall.ENOSPC) { // ours; a component's is in its log
		err = errors.New(fullDisk(string(l)))
	}
	if err != nil {
		// ctx may be what ended it, and must not keep us from cleaning up.
		return errors.Join(err, sup.Shutdown(context.WithoutCancel(ctx)))
	}
	p.sup = sup
	return nil
}
