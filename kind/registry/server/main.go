// Command server is a registry for the images of one machine: `make docker-push`
// pushes to it, and the nodes of kind clusters pull from it. It runs in a container
// beside them and keeps what is pushed in the container's file system: as long as
// the container is there, whether it runs or not.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

const (
	address = ":5000"
	folder  = "/var/lib/registry"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run() error {
	// The first process of a container is not ended by a signal that it does not listen to.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	handler, err := newHandler(folder)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler serves a registry that keeps what it has in a folder: memory would be
// taken for every image that was ever pushed, and forgets.
func newHandler(folder string) (http.Handler, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return remember(registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(folder)),
		registry.Logger(log.New(os.Stderr, "", log.LstdFlags)),
	), filepath.Join(folder, "manifests"))
}
