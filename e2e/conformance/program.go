package conformance

import (
	"context"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/conformance/image"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// Program returns what is to be run of an operator that is given as its executable or as its image, which is anything that
// image.Open takes. The manifests, which runner.Load reads, tell how a pod would run the image. What is taken out of it goes to a
// folder, work, and belongs there as long as it runs.
func Program(ctx context.Context, operator, manifests, work string) (image.Program, error) {
	if image.IsProgram(operator) {
		path, err := filepath.Abs(operator)
		return image.Program{Path: path}, err
	}
	img, err := image.Open(ctx, operator)
	if err != nil {
		return image.Program{}, err
	}
	rendered, err := runner.Load(manifests)
	if err != nil {
		return image.Program{}, err
	}
	manager, err := rendered.Manager()
	if err != nil {
		return image.Program{}, err
	}
	return img.Program(ctx, work, manager.Command, manager.Args)
}
