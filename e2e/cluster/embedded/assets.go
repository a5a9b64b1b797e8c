package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/example/operator-testbed/e2e/cluster/internal/gorun"
)

const (
	// AssetsVariable is the environment variable that names a directory with the components' executables, to use instead of
	// building them.
	AssetsVariable = "TESTBED_ASSETS"
)

// directories are what was found for a version. A directory with everything also serves those who need only the components.
type directories struct{ components, everything string }

// found is what earlier calls have found, by version.
var found = struct {
	sync.Mutex
	of map[string]directories
}{of: map[string]directories{}}

// Assets is [AssetsOf] for [Version].
func Assets(ctx context.Context, progress io.Writer) (string, error) {
	return AssetsOf(ctx, Version, progress)
}

// AssetsOf returns the directory that holds the executables of the components, in a version that clusters can run, and kubectl. It
// downloads or builds those that are not in the cache yet; building takes minutes, and progress shows how far it is. Later calls in
// the same process return the same directory. It can be envtest's KUBEBUILDER_ASSETS.
func AssetsOf(ctx context.Context, version string, progress io.Writer) (string, error) {
	found.Lock()
	defer found.Unlock()
	if found.of[version].everything == "" {
		dir, err := assets(ctx, version, progress)
		if err != nil {
			return "", err
		}
		found.of[version] = directories{dir, dir}
	}
	return found.of[version].everything, nil
}

// ComponentsOf is like AssetsOf, but does not wait until kubectl is built: a cluster runs without it.
func ComponentsOf(ctx context.Context, version string, progress io.Writer) (string, error) {
	found.Lock()
	defer found.Unlock()
	if found.of[version].components == "" {
		dir, err := assets(ctx, version, progress, "-cluster")
		if err != nil {
			return "", err
		}
		found.of[version] = directories{components: dir}
	}
	return found.of[version].components, nil
}

func assets(ctx context.Context, version string, progress io.Writer, args ...string) (string, error) {
	dir := os.Getenv(AssetsVariable)
	if version == PreviousVersion {
		if dir != "" {
			return "", fmt.Errorf("find the executables of Kubernetes %s: %s names others: unset it, or do not choose a version", version, AssetsVariable)
		}
		args = append(args, "-previous")
	}
	if dir == "" {
		var err error
		if dir, err = build(ctx, progress, args...); err != nil {
			return "", fmt.Errorf("find the cluster's executables: %w", err)
		}
	}
	if err := complete(dir); err != nil {
		return "", fmt.Errorf("find the cluster's executables: %w: unset %s, or remove that directory and try again", err, AssetsVariable)
	}
	return dir, nil
}

// Origin is the address that the kube-apiserver in a directory was downloaded from, or "" if it was compiled. Other programs of that
// directory may have been compiled in either case.
func Origin(assets string) string {
	var record struct{ Origin string }
	data, err := os.ReadFile(filepath.Join(assets, KubeAPIServer+".json"))
	if err != nil || json.Unmarshal(data, &record) != nil {
		return "" // TESTBED_ASSETS may be without records
	}
	return record.Origin
}

// complete returns an error that names a component which can't be run from a directory.
func complete(dir string) error {
	for _, component := range components {
		if _, err := exec.LookPath(filepath.Join(dir, component)); err != nil {
			return fmt.Errorf("there is no %s that can be run in %s", component, dir)
		}
	}
	return nil
}

// build asks the module that pins Kubernetes for the directory.
func build(ctx context.Context, progress io.Writer, args ...string) (string, error) {
	root, err := gorun.Root(ctx)
	if err != nil {
		return "", err
	}
	module := filepath.Join(root, "kind", "kubernetes")
	if _, err := os.Stat(module); err != nil {
		return "", fmt.Errorf("%s is not a clone of operator-testbed, because Go downloads modules without those inside them: "+
			"replace the module by a clone in go.mod, or set %s to the directory that `go -C kind/kubernetes run .` prints in a clone", root, AssetsVariable)
	}
	return gorun.Line(ctx, progress, module, args...)
}
