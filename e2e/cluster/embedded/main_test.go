package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/internal/watch"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
)

// clusters is the directory of the clusters that are up, in a state directory that these tests have to themselves.
var clusters string

func TestMain(m *testing.M) {
	supervisor.Main()
	reaper.Main()
	reaped := reaper.Begin()
	code, err := run(m)
	reaped.End()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	state, err := os.MkdirTemp("", "embedded-")
	if err != nil {
		return 1, err
	}
	clusters = filepath.Join(state, "clusters")
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	if err := os.Setenv(home.StateVariable, state); err != nil {
		return 1, err
	}
	code = m.Run()
	if shared.bed != nil {
		err = shared.bed.cluster.Destroy(context.Background())
	}
	return code, err
}

// needsCluster skips the test unless the suites are asked to run on embedded clusters.
func needsCluster(t *testing.T) {
	t.Helper()
	tier.NeedsEmbedded(t)
	t.Parallel()
}

// bed is a cluster that is up, and a client without a limit.
type bed struct {
	client.WithWatch
	cluster *embedded.Provider
}

// shared is the cluster of all tests that break nothing.
var shared struct {
	sync.Once
	bed *bed
	err error
}

const sharedName = "shared"

func sharedBed(t *testing.T) *bed {
	t.Helper()
	needsCluster(t)
	shared.Do(func() {
		// Not the test's context: the cluster outlives the test.
		shared.bed, shared.err = up(context.Background(), sharedName, embedded.WithCRDs("testdata/crds"), embedded.WithNodes(3))
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.bed
}

// ownBed is a cluster that the test may break, once needsCluster has let it. The test's end is the cluster's.
func ownBed(t *testing.T, name string, options ...support.ClusterOpts) *bed {
	t.Helper()
	b, err := up(t.Context(), name, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.cluster.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
		expectNothingLeft(t, name)
	})
	return b
}

func up(ctx context.Context, name string, options ...support.ClusterOpts) (*bed, error) {
	p := embedded.NewProvider()
	if _, err := p.WithName(name).WithOpts(options...).Create(ctx); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(p.KubernetesRestConfig(), client.Options{Scheme: scheme()})
	if err != nil {
		return nil, errors.Join(err, p.Destroy(ctx))
	}
	return &bed{WithWatch: c, cluster: p}, nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}

// expectNothingLeft checks that neither a process nor the directory of a cluster is there.
func expectNothingLeft(t *testing.T, name string) {
	t.Helper()
	dir := filepath.Join(clusters, name)
	leftover.None(t, dir)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("expected the directory %s to be gone: %v", dir, err)
	}
}

// scope returns what assertions on the cluster need.
func (b *bed) scope(t *testing.T) *framework.Scope {
	return &framework.Scope{T: t, Client: b.WithWatch}
}

// namespace makes a namespace for one test.
func (b *bed) namespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	b.create(t, namespace)
	return namespace.Name
}

func (b *bed) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := b.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// patch applies a merge patch.
func (b *bed) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	if err := b.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// process is what the supervisor knows of a component.
func (b *bed) process(t *testing.T, component string) supervisor.ProcessStatus {
	t.Helper()
	all, err := b.cluster.Supervisor().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Name == component {
			return p
		}
	}
	t.Fatalf("expected the supervisor to know %s, it knows %+v", component, all)
	return supervisor.ProcessStatus{}
}

// deployment is a Deployment as plain as can be.
func deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	d := watch.NewDeployment(namespace, name, replicas)
	d.Spec.Template.Spec.Containers[0].Image = "memcached:1.6"
	return d
}
