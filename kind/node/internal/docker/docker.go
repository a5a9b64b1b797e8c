// Package docker runs the command of the container engine, as kind does.
package docker

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/example/operator-testbed/kind/build/program"
)

// engine is the command of the container engine that the caller has chosen by the same variable as for kind.
func engine() string { return cmp.Or(os.Getenv("KIND_EXPERIMENTAL_PROVIDER"), "docker") }

// Check returns an error that says what to do if Docker can't be used.
func Check(ctx context.Context) error {
	if _, err := exec.LookPath(engine()); err != nil {
		return errors.New("there is no docker on PATH: install Docker, or run `make docker-up` on Debian or Ubuntu")
	}
	_, err := program.Output(ctx, engine(), "version", "--format={{.Server.Version}}")
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
	_, err := program.Output(ctx, engine(), "image", "inspect", "--format={{.Id}}", image)
	return err == nil
}

// Load loads the images of an archive.
func Load(ctx context.Context, file string) error {
	_, err := program.Output(ctx, engine(), "load", "--quiet", "--input="+file)
	return err
}

// Untag removes the name of an image, and the layers that no other image needs. A
// failure is ignored, because the name does no harm.
func Untag(ctx context.Context, image string) {
	_, _ = program.Output(ctx, engine(), "image", "rm", image)
}

// RemoveContainers removes the containers of an image. A failure is ignored.
func RemoveContainers(ctx context.Context, image string) {
	ids, err := program.Output(ctx, engine(), "ps", "--all", "--quiet", "--filter=ancestor="+image)
	if err == nil && len(ids) > 0 {
		_, _ = program.Output(ctx, engine(), append([]string{"rm", "--force", "--volumes"}, strings.Fields(string(ids))...)...)
	}
}
