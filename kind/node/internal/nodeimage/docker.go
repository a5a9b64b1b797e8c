package nodeimage

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"sigs.k8s.io/kind/pkg/build/nodeimage"
	"sigs.k8s.io/kind/pkg/log"
)

// docker is the Docker command: kind's library uses no other.
type docker struct{}

// check says what is wrong where Docker can't be used.
func (docker) check(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("there is no docker on PATH: install Docker, or run `make docker-up` on Debian or Ubuntu")
	}
	_, err := output(ctx, "docker", "version", "--format={{.Server.Version}}")
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case strings.Contains(err.Error(), "permission denied"):
		return errors.New("you may not use Docker on this machine: run `sudo usermod -aG docker $USER` and log in again")
	}
	return errors.New("Docker does not answer: start it, or run `make docker-up` on a Debian or Ubuntu that has none") //nolint:staticcheck // a name
}

func (docker) has(ctx context.Context, image string) bool {
	_, err := output(ctx, "docker", "image", "inspect", "--format={{.Id}}", image)
	return err == nil
}

func (docker) load(ctx context.Context, file string) error {
	_, err := output(ctx, "docker", "load", "--quiet", "--input="+file)
	return err
}

// untag takes a name away from an image. Its layers stay where others need them.
func (docker) untag(ctx context.Context, image string) {
	_, _ = output(ctx, "docker", "image", "rm", image)
}

// removeContainers removes what still runs from an image.
func (docker) removeContainers(ctx context.Context, image string) {
	ids, err := output(ctx, "docker", "ps", "--all", "--quiet", "--filter=ancestor="+image)
	if err == nil && len(ids) > 0 {
		_, _ = output(ctx, "docker", append([]string{"rm", "--force", "--volumes"}, strings.Fields(string(ids))...)...)
	}
}

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
		b.docker.removeContainers(context.WithoutCancel(ctx), baseImage)
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
