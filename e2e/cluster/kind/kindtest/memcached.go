package kindtest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"

	"github.com/example/operator-testbed/e2e/cluster"
)

// MemcachedArchive writes an archive with an image of memcached, which is made from source, and returns its path. name is the image's name
// in the archive.
func MemcachedArchive(t *testing.T, name string) string {
	t.Helper()
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := cluster.Line(t.Context(), t.Output(), filepath.Join(root, "kind", "node"), "-image=memcached")
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "memcached.tar")
	if output, err := exec.CommandContext(t.Context(), cluster.Engine(), "save", "--output="+archive, made).CombinedOutput(); err != nil {
		t.Fatalf("save %s: %v\n%s", made, err, output)
	}
	image, err := crane.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(filepath.Dir(archive), "named.tar")
	if err := crane.Save(image, name, named); err != nil {
		t.Fatal(err)
	}
	return named
}
