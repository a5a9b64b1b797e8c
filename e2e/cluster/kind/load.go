package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// LoadImage brings an image of Docker's to every node. It takes no args.
func (p *Provider) LoadImage(ctx context.Context, image string, _ ...string) error {
	folder, err := os.MkdirTemp("", "load-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	archive := filepath.Join(folder, "image.tar")
	if _, err := docker(ctx, "save", "--output="+archive, image); err != nil {
		return fmt.Errorf("load %s into the kind cluster %s: %w: build or pull it first", image, p.name, err)
	}
	return p.LoadImageArchive(ctx, archive)
}

// LoadImageArchive brings the images of an archive, such as docker save writes it, to every node. It takes no args.
func (p *Provider) LoadImageArchive(_ context.Context, archive string, _ ...string) error {
	all, err := p.library().ListInternalNodes(inKind(p.name))
	if err == nil && len(all) == 0 {
		err = &NotUpError{Name: p.name}
	}
	if err != nil {
		return err
	}
	var loading errgroup.Group
	for _, node := range all {
		loading.Go(func() error { return load(node, archive) })
	}
	if err := loading.Wait(); err != nil {
		return fmt.Errorf("load %s into the kind cluster %s: %w", archive, p.name, err)
	}
	return nil
}

func load(node nodes.Node, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	return errors.Join(nodeutils.LoadImageArchive(node, file), file.Close())
}
