package embedded

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const (
	// AssetsVariable is the environment variable that names a folder with the
	// components' executables, instead of the one that is built.
	AssetsVariable = "TESTBED_ASSETS"

	module = "github.com/example/operator-testbed"
)

var found struct {
	sync.Mutex
	dir string
}

// Assets returns the folder that holds the executables of the components and
// kubectl, building what is not in the cache yet; that takes minutes, and
// progress says how far it is. The folder is remembered for the life of the
// process. It suits envtest as KUBEBUILDER_ASSETS.
func Assets(ctx context.Context, progress io.Writer) (string, error) {
	found.Lock()
	defer found.Unlock()
	if found.dir != "" {
		return found.dir, nil
	}
	dir := os.Getenv(AssetsVariable)
	if dir == "" {
		var err error
		if dir, err = build(ctx, progress); err != nil {
			return "", fmt.Errorf("find the cluster's executables: %w", err)
		}
	}
	for _, component := range components {
		if _, err := exec.LookPath(filepath.Join(dir, component)); err != nil {
			return "", fmt.Errorf("find the cluster's executables: there is no %s that can be run in %s: unset %s, or remove that folder and try again", component, dir, AssetsVariable)
		}
	}
	found.dir = dir
	return dir, nil
}

// build asks the module that pins Kubernetes for the folder.
func build(ctx context.Context, progress io.Writer) (string, error) {
	root, err := output(ctx, io.Discard, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w: run this inside a clone of its repository", module, err)
	}
	return output(ctx, progress, "go", "-C", filepath.Join(root, "kind", "kubernetes"), "run", ".")
}

// output runs a command and returns its stdout, a line. Its stderr goes to
// progress; its last line is in the error.
func output(ctx context.Context, progress io.Writer, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout = &stdout
	cmd.Stderr = io.MultiWriter(&stderr, progress)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, lastLine(stderr.Bytes()))
	}
	line := strings.TrimSpace(stdout.String())
	if line == "" {
		return "", fmt.Errorf("%s: it printed nothing", strings.Join(cmd.Args, " "))
	}
	return line, nil
}

// lastLine is the last line of a log that is not empty.
func lastLine(log []byte) string {
	log = bytes.TrimSpace(log)
	return string(log[bytes.LastIndexByte(log, '\n')+1:])
}
