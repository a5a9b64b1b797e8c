// Package kindtest starts kind clusters for tests.
package kindtest

import (
	"context"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/kind"
)

// Start creates a kind cluster whose nodes have the images of an archive, and returns it with the path of its kubeconfig. When the test
// is done, the cluster is removed.
func Start(t *testing.T, name, archive string) (p *kind.Provider, kubeconfig string) {
	t.Helper()
	t.Setenv("TESTBED_STATE", t.TempDir())
	p = kind.NewProvider()
	p.WithName(name).WithOpts(kind.WithProgress(t.Output()))
	t.Cleanup(func() {
		if err := p.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, err := p.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.LoadImageArchive(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	return p, kubeconfig
}
