package exercises_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/tier"
)

// clusters are those that the tests have brought up, as many as there are tests side by side. They end with this program.
var clusters struct {
	sync.Mutex
	up   []*embedded.Provider
	free []string
}

// takeCluster returns the variable that has suites run on a cluster that no other test uses. They make it as new again.
func takeCluster(t *testing.T) string {
	t.Helper()
	tier.NeedsEmbedded(t)
	name, err := freeCluster(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		clusters.Lock()
		defer clusters.Unlock()
		clusters.free = append(clusters.free, name)
	})
	return "TESTBED_CLUSTER=" + name
}

func freeCluster(ctx context.Context) (string, error) {
	clusters.Lock()
	if last := len(clusters.free) - 1; last >= 0 {
		defer clusters.Unlock()
		name := clusters.free[last]
		clusters.free = clusters.free[:last]
		return name, nil
	}
	cluster := embedded.NewProvider()
	clusters.up = append(clusters.up, cluster)
	name := fmt.Sprintf("lab-%d-%d", os.Getpid(), len(clusters.up))
	clusters.Unlock()
	// The cluster has both CRDs from its start, because adding one later takes it longer than replacing a version.
	crds := embedded.WithCRDs(filepath.Join(root, "operator", "config", "crd", "bases"), filepath.Join(root, "tutorial", "10-finalizers", "config", "crd", "bases"))
	_, err := cluster.WithName(name).WithOpts(crds).Create(ctx)
	return name, err
}

// destroyClusters ends the clusters.
func destroyClusters() error {
	var failed []error
	for _, cluster := range clusters.up {
		failed = append(failed, cluster.Destroy(context.Background()))
	}
	return errors.Join(failed...)
}
