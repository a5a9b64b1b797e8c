// Package docker runs the docker command, as kind does.
package docker

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/example/operator-testbed/kind/build/program"
)

// Check returns an error that says what to do if Docker can't be used.
func Check(ctx context.Context) error {
	if _, err := exec.LookPath("docker"); err != nil {
		return errors.New("there is no docker on PATH: install Docker, or run `make docker-up` on Debian or Ubuntu")
	}
	_, err := program.Output(ctx, "docker", "version", "--format={{.Server.Version}}")
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case strings.Contains(err.Error(), "permission denied"):
		return errors.New("you may not use Docker on this machine: run `sudo usermod -aG docker $USER` and log in again")
	}
	return errors.New("Docker does not answer: start it, or run `make docker-up` on a Debian or Ubuntu that has none") //nolint:staticcheck // a name
}

// Has reports whether there is an image of a name.
func Has(ctx context.Context, image string) bool {
	_, err := program.Output(ctx, "docker", "image", "inspect", "--format={{.Id}}", image)
	return err == nil
}

// Load loads the images of an archive.
func Load(ctx context.Context, file string) error {
	_, err := program.Output(ctx, "docker", "load", "--quiet", "--input="+file)
	return err
}

// Untag removes the name of an image, and the layers that no other image needs. A
// failure is ignored, because the name does no harm.
func Untag(ctx context.Context, image string) {
	_, _ = program.Output(ctx, "docker", "image", "rm", image)
}

// RemoveContainers removes the containers of an image. A failure is ignored.
func RemoveContainers(ctx context.Context, image string) {
	ids, err := program.Output(ctx, "docker", "ps", "--all", "--quiet", "--filter=ancestor="+image)
	if err == nil && len(ids) > 0 {
		_, _ = program.Output(ctx, "docker", append([]string{"rm", "--force", "--volumes"}, strings.Fields(string(ids))...)...)
	}
}
