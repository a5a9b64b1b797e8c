// Command registry makes sure that Docker has an image of the local registry, and
// prints its name:
//
//	go -C kind/registry run .
//
// The registry itself is in server. e2e/cluster/kind runs it next to a cluster's
// nodes. Nothing else is printed.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"runtime"

	"github.com/example/operator-testbed/kind/build/command"
	"github.com/example/operator-testbed/kind/build/program"
)

// repository is the image's name, without a tag.
const repository = "operator-testbed/registry"

func main() {
	command.Main(flag.NewFlagSet("registry", flag.ExitOnError), func(ctx context.Context, _ string) (string, error) {
		module, err := os.Getwd()
		if err != nil {
			return "", err
		}
		return ensure(ctx, module)
	})
}

// ensure compiles the server, and makes its image unless Docker has it. The tag is a
// digest of the executable.
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
	engine := cmp.Or(os.Getenv("KIND_EXPERIMENTAL_PROVIDER"), "docker")
	if _, err := program.Output(ctx, engine, "image", "inspect", image); err == nil {
		return image, nil
	}
	_, err = program.Output(ctx, engine, "build", "--file="+filepath.Join(module, "Dockerfile"), "--tag="+image, work)
	return image, err
}

// compile compiles the server for a container of this machine's architecture: a
// container is always Linux, whatever it runs on.
func compile(ctx context.Context, module, executable string) error {
	goCommand := program.Program{Path: "go", Dir: module, Env: []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + runtime.GOARCH}}
	_, err := goCommand.Output(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o="+executable, "./server")
	return err
}
