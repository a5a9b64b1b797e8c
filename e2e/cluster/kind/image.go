package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
)

// NodeImageVariable is the environment variable that names the image of the nodes.
const NodeImageVariable = "KIND_NODE_IMAGE"

// pullTimeout is how long an image may take to be pulled; after it, it is made from source. A node has 400 MB.
const pullTimeout = 10 * time.Minute

// errTooSlow is why a pull was given up.
var errTooSlow = fmt.Errorf("it took longer than %v", pullTimeout)

// want is an image that a cluster needs.
type want struct {
	what     string   // for people: "nodes"
	variable string   // names another image, if set
	pinned   string   // what is used where there is a registry
	recipe   []string // the arguments of kind/node that make one from source
}

// nodeImage is what kind's nodes are containers of.
func nodeImage() want {
	return want{what: "nodes", variable: NodeImageVariable, pinned: defaults.Image}
}

// source is how images are found or made.
type source struct {
	has   func(ctx context.Context, image string) bool
	pull  func(ctx context.Context, image string) error
	build func(ctx context.Context, recipe []string) (string, error)
}

// engine is Docker, and the module of this repository that makes images in it.
func engine(progress io.Writer) source {
	return source{
		has: func(ctx context.Context, image string) bool {
			_, err := docker(ctx, "image", "inspect", "--format={{.Id}}", image)
			return err == nil
		},
		pull: func(ctx context.Context, image string) error {
			ctx, cancel := context.WithTimeoutCause(ctx, pullTimeout, errTooSlow)
			defer cancel()
			_, err := docker(ctx, "pull", "--quiet", image)
			return err
		},
		build: func(ctx context.Context, recipe []string) (string, error) {
			root, err := gorun.Root(ctx)
			if err != nil {
				return "", err
			}
			return gorun.Line(ctx, progress, filepath.Join(root, "kind", "node"), recipe...)
		},
	}
}

// find returns the name of an image that Docker has, and prints which and why: the one that the variable names, the pinned one if
// Docker has it or can pull it, or one made from source.
func (w want) find(ctx context.Context, from source, progress io.Writer) (string, error) {
	chosen := func(image, why string) (string, error) {
		fmt.Fprintf(progress, "%s of %s: %s\n", w.what, image, why)
		return image, nil
	}
	if named := os.Getenv(w.variable); named != "" {
		if !from.has(ctx, named) {
			if err := from.pull(ctx, named); err != nil {
				return "", fmt.Errorf("%s=%s is not to be had: %w: unset it, or name an image that Docker has", w.variable, named, err)
			}
		}
		return chosen(named, "$"+w.variable+" names it")
	}
	if from.has(ctx, w.pinned) {
		return chosen(w.pinned, "Docker has it")
	}
	fmt.Fprintf(progress, "pull %s\n", w.pinned)
	refused := from.pull(ctx, w.pinned)
	if refused == nil {
		return chosen(w.pinned, "pulled")
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	fmt.Fprintf(progress, "make one of source instead: %v\n", refused)
	made, err := from.build(ctx, w.recipe)
	if err != nil {
		return "", errors.Join(fmt.Errorf("there is no image for %s: %s can't be pulled (%w), and none could be made", w.what, w.pinned, refused), err)
	}
	return chosen(made, "made from source, as the registry can't be reached")
}

// NodeImage returns the name of the image that clusters take for their nodes, which Docker has then.
func NodeImage(ctx context.Context, progress io.Writer) (string, error) {
	return nodeImage().find(ctx, engine(progress), progress)
}
