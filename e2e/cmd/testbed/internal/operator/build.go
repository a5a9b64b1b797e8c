package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/runner"
)

// Program is the operator of a clone, ready to run.
type Program struct {
	// Binary is the executable.
	Binary string
	// Manifests install it: what operator/config/default renders to.
	Manifests runner.Manifests
}

// Build compiles the operator of the clone at root and renders its manifests. An
// executable that is up to date is left as it is.
func Build(ctx context.Context, root string) (Program, error) {
	manifests, err := runner.Render(filepath.Join(root, "operator", "config", "default"))
	if err != nil {
		return Program{}, err
	}
	binary := filepath.Join(root, "bin", "memcached-operator")
	if err := runner.Build(ctx, root, "./operator/cmd", binary); err != nil {
		if ctx.Err() != nil {
			return Program{}, context.Cause(ctx)
		}
		return Program{}, err
	}
	return Program{Binary: binary, Manifests: manifests}, nil
}

// digest tells one build of an executable from another.
func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the operator's executable: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read the operator's executable: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
