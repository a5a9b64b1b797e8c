package nodeimage

import (
	"context"
	"errors"
	"os"

	"sigs.k8s.io/kind/pkg/build/nodeimage"
	"sigs.k8s.io/kind/pkg/log"

	"github.com/example/operator-testbed/kind/node/internal/docker"
)

// onTop makes the node image with kind's library.
func (b *build) onTop(ctx context.Context, server, baseImage, name string) error {
	detail := b.detail(stepNode, "kind's part of the image")
	// The library unpacks into a temporary folder, and leaves it there.
	restore := setenv("TMPDIR", b.work)
	defer restore()
	// What it runs prints to our standard output, which is for the image's name, and
	// to standard error, where a line of progress stands.
	quiet, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer quiet.Close()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = quiet, quiet
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()

	logger := &kindLogger{detail: detail}
	built := make(chan error, 1)
	go func() {
		built <- nodeimage.Build(
			nodeimage.WithImage(name),
			nodeimage.WithBaseImage(baseImage),
			nodeimage.WithKubeParam(server),
			nodeimage.WithBuildType("file"),
			nodeimage.WithArch(b.architecture),
			nodeimage.WithLogger(logger),
		)
	}()
	select {
	case err = <-built:
	case <-ctx.Done():
		// The library can't be called off, but it ends when its container is gone.
		docker.RemoveContainers(context.WithoutCancel(ctx), baseImage)
		return errors.Join(context.Cause(ctx), <-built)
	}
	if err != nil {
		return logger.explain(err)
	}
	return nil
}

// setenv sets an environment variable and returns what puts it back.
func setenv(name, value string) (restore func()) {
	before, was := os.LookupEnv(name)
	_ = os.Setenv(name, value)
	return func() {
		if was {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}

var _ log.Logger = (*kindLogger)(nil)
