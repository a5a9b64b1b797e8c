package pool_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/pool"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cluster/supervisor/leftover"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/tier"
)

// startPool starts a pool that is closed when the test is over, and then has left nothing in the state directory.
func startPool(t *testing.T, state string) *pool.Pool {
	t.Helper()
	p, err := pool.Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		expectNothing(t, state)
	})
	return p
}

// expectNothing checks that nothing is left of pools and clusters.
func expectNothing(t *testing.T, state string) {
	t.Helper()
	leftover.None(t, state)
	for _, directory := range []string{"pools", "clusters"} {
		if entries, err := os.ReadDir(filepath.Join(state, directory)); len(entries) > 0 {
			t.Errorf("expected nothing in %s, got %v, %v", directory, entries, err)
		}
	}
}

// TestClose closes a pool while a connection is open on which nothing has been asked for.
func TestClose(t *testing.T) {
	state := ownState(t)
	p, err := pool.Start(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	connection, err := supervisor.DialUnix(t.Context(), filepath.Join(p.Dir(), "pool.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	// Once this is answered, the pool has accepted the connection before it, too.
	if _, err := pool.Borrow(t.Context(), p.Dir(), absolute(t, "missing")); err == nil {
		t.Error("expected no cluster with a file that is missing")
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	expectNothing(t, state)
}

// absolute is the path of a file, as another process may be asked for it.
func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPool lends clusters to suites that end in every way.
func TestPool(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	state := ownState(t)
	p := startPool(t, state)
	crds := absolute(t, "../embedded/testdata/crds")

	// One that is killed, with an operator, and an object that nothing would release.
	first := start(t, "suite", p.Dir(), crds)
	name := first.line(t)
	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion("test.example.com/v1")
	owner.SetKind("Owner")
	owner.SetNamespace(metav1.NamespaceDefault)
	owner.SetName("left")
	owner.SetFinalizers([]string{"example.com/never"})
	if err := admin(t, name).Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	// Meanwhile, another suite gets another cluster.
	second, err := pool.Borrow(t.Context(), p.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if second.Cluster == name {
		t.Fatalf("expected two clusters for two suites, got %s for both", name)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	untilFree(t, p, 1)
	if running(t, name, "operator") {
		t.Error("expected the pool to stop what the suite ran")
	}

	third, err := pool.Borrow(t.Context(), p.Dir(), crds)
	if err != nil {
		t.Fatal(err)
	}
	if third.Cluster != name {
		t.Errorf("expected the cluster %s of the suite that was killed, got %s", name, third.Cluster)
	}
	left := &unstructured.UnstructuredList{}
	left.SetAPIVersion("test.example.com/v1")
	left.SetKind("OwnerList")
	if err := admin(t, third.Cluster).List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("expected the kind that was asked for and no object of it, got %d, %v", len(left.Items), err)
	}
	if err := third.Return(); err != nil {
		t.Fatal(err)
	}

	// A cluster that can't be renewed is replaced.
	broken, err := embedded.Attach(second.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(broken.Supervisor().PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := second.Return(); err != nil {
		t.Fatal(err)
	}
	var last []*pool.Loan
	for range 2 {
		loan, err := pool.Borrow(t.Context(), p.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if kinds := customKinds(t, loan.Cluster); len(kinds) > 0 {
			t.Errorf("expected no CustomResourceDefinition, got %q", kinds)
		}
		last = append(last, loan)
	}
	if last[0].Cluster == second.Cluster || last[1].Cluster == second.Cluster || last[0].Cluster != name && last[1].Cluster != name {
		t.Errorf("expected %s and a new cluster, got %s and %s", name, last[0].Cluster, last[1].Cluster)
	}
	if got, want := p.Stats(), (pool.Stats{Started: 3, Lent: 5}); got != want {
		t.Errorf("expected %+v, got %+v", want, got)
	}
	// What a suite asks for wrongly does no harm to a cluster.
	if err := last[0].Return(); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Borrow(t.Context(), p.Dir(), "/nowhere"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("expected an error about /nowhere, got %v", err)
	}
	again, err := pool.Borrow(t.Context(), p.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if again.Cluster != last[0].Cluster {
		t.Errorf("expected the cluster %s again, got %s", last[0].Cluster, again.Cluster)
	}
}

// TestKilledOwner kills the process that owns the clusters: a suite learns it, and nothing is left.
func TestKilledOwner(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	state := ownState(t)
	owner := start(t, "owner", "sh", "-c", "sleep 1000 & echo started; wait")
	dir := owner.line(t)
	if started := owner.line(t); started != "started" {
		t.Fatalf("expected the command to run, got %q", started)
	}
	loan, err := pool.Borrow(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-loan.Lost()
	expectNothing(t, state)
	if _, err := pool.Borrow(t.Context(), dir); err == nil {
		t.Error("expected an error for a pool that has ended")
	}
}

// TestRun runs commands with a pool that no suite asks for a cluster.
func TestRun(t *testing.T) {
	state := ownState(t)
	p := startPool(t, state)
	var exit *exec.ExitError
	if err := p.Run(t.Context(), exec.Command("sh", "-c", "exit 7")); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("expected the exit code of the command, got %v", err)
	}
	if err := p.Run(t.Context(), exec.Command("/nowhere/command")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("expected an error for a command that does not exist, got %v", err)
	}
	// One that is interrupted is waited for.
	ctx, interrupt := context.WithCancel(t.Context())
	command := exec.Command("sh", "-c", "trap 'exit 5' INT; echo ready; while :; do sleep 0.05; done")
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = stdout.Read(make([]byte, 1))
		interrupt()
	}()
	if err := p.Run(ctx, command); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		t.Errorf("expected the command to stop in its own way, got %v", err)
	}
	if got := p.Stats(); got != (pool.Stats{}) {
		t.Errorf("expected no cluster for nobody, got %+v", got)
	}
}

// TestLongPath has a state directory whose path is longer than the address of a socket may be.
func TestLongPath(t *testing.T) {
	state := filepath.Join(ownState(t), strings.Repeat("long", 40))
	t.Setenv(home.StateVariable, state)
	p := startPool(t, state)
	if _, err := pool.Borrow(t.Context(), p.Dir(), "/nowhere"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("expected an answer about /nowhere, got %v", err)
	}
}

// admin returns an administrator's client for a cluster.
func admin(t *testing.T, name string) client.Client {
	t.Helper()
	cluster, err := embedded.Attach(name)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.KubernetesRestConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// customKinds are the names of the CustomResourceDefinitions of a cluster.
func customKinds(t *testing.T, name string) []string {
	t.Helper()
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := admin(t, name).List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, crd := range all.Items {
		names = append(names, crd.Name)
	}
	slices.Sort(names)
	return names
}

// untilFree waits until so many clusters are free: the pool has noticed the end of the suites that had them, and stopped what they ran.
func untilFree(t *testing.T, p *pool.Pool, clusters int) {
	t.Helper()
	for p.Stats().Free != clusters {
		select {
		case <-t.Context().Done():
			t.Fatalf("expected %d free clusters, got %+v", clusters, p.Stats())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// running reports whether a process with this name runs beside a cluster.
func running(t *testing.T, cluster, name string) bool {
	t.Helper()
	attached, err := embedded.Attach(cluster)
	if err != nil {
		t.Fatal(err)
	}
	_, found, err := attached.Supervisor().Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
