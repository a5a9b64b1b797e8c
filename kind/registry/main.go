// Command registry makes sure that Docker has an image of the local registry, and
// prints its name:
//
//	go -C kind/registry run .
//
// The registry itself is in server. e2e/cluster/kind runs it beside a cluster's
// nodes. This says nothing when there is nothing to do.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/example/operator-testbed/kind/build/command"
)

// repository is the image's name, without a tag.
const repository = "operator-testbed/registry"

func main() {
	command.Main(flag.NewFlagSet("registry", flag.ContinueOnError), func(ctx context.Context, _ string) (string, error) {
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		return ensure(ctx, module)
	})
}

// ensure compiles the server and makes the image of it unless Docker has it. The
// tag is a digest of the executable.
func ensure(ctx context.Context, module string) (string, error) {
	work, err := os.MkdirTemp("", "registry-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	executable := filepath.Join(work, "server")
	if err := compile(ctx, module, executable); err != nil {
		return "", err
	}
	content, err := os.ReadFile(executable)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(content)
	image := repository + ":" + hex.EncodeToString(digest[:])[:12]
	if run(exec.CommandContext(ctx, "docker", "image", "inspect", image)) == nil {
		return image, nil
	}
	return image, run(exec.CommandContext(ctx, "docker", "build", "--file="+filepath.Join(module, "Dockerfile"), "--tag="+image, work))
}

// compile compiles the server for a container of this machine's architecture: a
// container is always Linux, whatever it runs on.
func compile(ctx context.Context, module, executable string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", executable, "./server")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	return run(cmd)
}

// run runs a command; what it says on standard error becomes part of the error.
func run(cmd *exec.Cmd) error {
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", strings.Join(cmd.Args[:2], " "), err), errors.New(strings.TrimSpace(said.String())))
	}
	return nil
}
