package nodeimage

import (
	"context"
	"regexp"

	"github.com/example/operator-testbed/kind/build/program"
	"github.com/example/operator-testbed/kind/node/internal/docker"
)

// complaint matches the lines with which kind reports why it fails.
var complaint = regexp.MustCompile(`[Ff]ailed|^ERROR`)

// onTop lets kind build the node image on the base image.
func (b *build) onTop(ctx context.Context, server, baseImage, name string) error {
	detail := b.detail(stepNode, "kind's part of the image")
	kind, err := b.programs.find("kind")
	if err != nil {
		return err
	}
	// The container that kind builds in is left when kind is interrupted.
	defer docker.RemoveContainers(context.WithoutCancel(ctx), baseImage)
	failed := false
	command := program.Program{
		Path: kind,
		// kind unpacks into a temporary directory, and leaves it there.
		Env: []string{"TMPDIR=" + b.work},
		OnLine: func(line string) bool {
			detail(line)
			failed = failed || complaint.MatchString(line)
			return !failed
		},
	}
	_, err = command.Output(ctx, "build", "node-image", "--type=file", "--arch="+b.architecture, "--image="+name, "--base-image="+baseImage, server)
	return err
}
