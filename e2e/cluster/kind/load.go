package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/distribution/reference"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// Stock brings an image to every node and returns its name: the one that the environment variable names; or the given one, if
// Docker has it or can pull it in time; or one that is made from source and called like it.
func (p *Provider) Stock(ctx context.Context, variable, image string) (string, error) {
	found, err := findStock(ctx, p.progress, variable, image)
	if err != nil {
		return "", fmt.Errorf("bring %s to the kind cluster %s: %w", image, p.name, err)
	}
	return found, p.LoadImage(ctx, found)
}

// Prepare has Docker have what takes long to pull or to make: the image of the nodes, and that which Stock brings to them for the
// same variable and image.
func Prepare(ctx context.Context, progress io.Writer, variable, image string) error {
	if err := errors.Join(prepareEnvironment(), CheckDocker(ctx)); err != nil {
		return err
	}
	_, err := NodeImage(ctx, progress)
	if err == nil {
		_, err = findStock(ctx, progress, variable, image)
	}
	return err
}

// findStock returns the name of an image that containers on the nodes are made of, which Docker has then.
func findStock(ctx context.Context, progress io.Writer, variable, image string) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", err
	}
	what := path.Base(named.Name())
	return want{what: what, variable: variable, pinned: image, recipe: []string{"-image=" + what}}.find(ctx, engine(progress), progress)
}

// StockAs is Stock for manifests that name the image: one that is made from source gets its name, too, on the nodes.
func (p *Provider) StockAs(ctx context.Context, image string) error {
	found, err := p.Stock(ctx, "", image)
	if err != nil || found == image {
		return err
	}
	made, err := reference.ParseDockerRef(found)
	if err != nil {
		return err
	}
	name, err := reference.ParseDockerRef(image)
	if err != nil {
		return err
	}
	return p.onNodes(func(node nodes.Node) error {
		return node.Command("ctr", "--namespace=k8s.io", "images", "tag", "--force", made.String(), name.String()).Run()
	})
}

// LoadImage brings an image of Docker's to every node. It takes no args.
func (p *Provider) LoadImage(ctx context.Context, image string, _ ...string) error {
	directory, err := os.MkdirTemp("", "load-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	archive := filepath.Join(directory, "image.tar")
	if err := save(ctx, image, archive); err != nil {
		return fmt.Errorf("load %s into the kind cluster %s: %w: build or pull it first", image, p.name, err)
	}
	return p.LoadImageArchive(ctx, archive)
}

// save writes an image of the engine's to an archive. Since version 29, Docker keeps images of several platforms whole, and saves the list
// of all of them, although only the layers of one have been pulled. Importing that on a node fails. So only the nodes' platform is
// saved, where the engine can choose one and the image is for it.
func save(ctx context.Context, image, archive string) error {
	_, err := docker(ctx, "save", "--platform=linux/"+runtime.GOARCH, "--output="+archive, image)
	if err != nil && ctx.Err() == nil {
		_, err = docker(ctx, "save", "--output="+archive, image)
	}
	return err
}

// LoadImageArchive brings the images of an archive, such as docker save writes it, to every node. It takes no args.
func (p *Provider) LoadImageArchive(_ context.Context, archive string, _ ...string) error {
	if err := p.onNodes(func(node nodes.Node) error { return load(node, archive) }); err != nil {
		return fmt.Errorf("load %s into the kind cluster %s: %w", archive, p.name, err)
	}
	return nil
}

// onNodes does something on every node at once.
func (p *Provider) onNodes(do func(nodes.Node) error) error {
	all, err := p.library().ListInternalNodes(inKind(p.name))
	if err == nil && len(all) == 0 {
		err = &NotUpError{Name: p.name}
	}
	if err != nil {
		return err
	}
	var doing errgroup.Group
	for _, node := range all {
		doing.Go(func() error { return do(node) })
	}
	return doing.Wait()
}

func load(node nodes.Node, archive string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	return errors.Join(nodeutils.LoadImageArchive(node, file), file.Close())
}
