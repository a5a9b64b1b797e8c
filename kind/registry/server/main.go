// Command server is a registry for the images of one machine: `make docker-push`
// pushes to it, and the nodes of kind clusters pull from it. It runs in a container
// next to them and keeps what is pushed in the container's file system, for as long
// as the container exists, whether it runs or not.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

const (
	address   = ":5000"
	directory = "/var/lib/registry"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run() error {
	// The first process of a container ignores signals that it does not handle.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: address, Handler: newHandler(ctx, directory), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler returns distribution's registry, which keeps blobs, manifests and tags
// in a directory and allows them to be deleted.
func newHandler(ctx context.Context, directory string) http.Handler {
	return handlers.NewApp(ctx, &configuration.Configuration{Storage: configuration.Storage{
		"filesystem": {"rootdirectory": directory},
		"delete":     {"enabled": true},
	}})
}
