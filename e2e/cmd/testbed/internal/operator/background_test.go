package operator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(reaper.Run(m))
}

// TestEnsure asks for the operator again and again: the same build is left alone,
// another one takes its place, and one that has ended comes back. The cluster
// begins without the CustomResourceDefinition.
func TestEnsure(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	t.Setenv("TESTBED_STATE", filepath.Join(t.TempDir(), "state"))
	root, err := cluster.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program, err := operator.Build(t.Context(), root, operator.Finished)
	if err != nil {
		t.Fatal(err)
	}
	cluster := embedded.NewProvider()
	if _, err := cluster.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := install.CRDs(t.Context(), cluster.KubernetesRestConfig(), program.Manifests); err != nil {
		t.Fatal(err)
	}

	ensure := func(why string, program operator.Program, want bool) {
		t.Helper()
		started, err := operator.Ensure(t.Context(), cluster.KubernetesRestConfig(), cluster.Supervisor(), program)
		if err != nil || started != want {
			t.Fatalf("%s: started %v, %v; want %v", why, started, err, want)
		}
	}
	ensure("nothing runs", program, true)
	ensure("the same build runs", program, false)

	other := program
	other.Binary = filepath.Join(t.TempDir(), "other")
	content, err := os.ReadFile(program.Binary)
	if err != nil {
		t.Fatal(err)
	}
	// What stands behind an executable's end does not matter to the kernel.
	if err := os.WriteFile(other.Binary, append(content, "another build"...), 0o755); err != nil {
		t.Fatal(err)
	}
	ensure("another build runs", other, true)
	ensure("the other build runs", other, false)

	if err := operator.Ready(t.Context(), cluster.Supervisor()); err != nil {
		t.Errorf("it is not ready: %v", err)
	}
	// One that hangs runs, and is not ready.
	if err := cluster.Supervisor().Pause(t.Context(), operator.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Ensure(t.Context(), cluster.KubernetesRestConfig(), cluster.Supervisor(), other); err == nil || !strings.Contains(err.Error(), "is not ready") {
		t.Errorf("while it hangs: %v, want an error that says it is not ready", err)
	}
	if err := cluster.Supervisor().Resume(t.Context(), operator.Name); err != nil {
		t.Fatal(err)
	}
	ensure("it goes on", other, false)

	if err := cluster.Supervisor().Kill(t.Context(), operator.Name); err != nil {
		t.Fatal(err)
	}
	if err := operator.Ready(t.Context(), cluster.Supervisor()); !errors.Is(err, operator.ErrNotRunning) {
		t.Errorf("after it was killed: %v, want %v", err, operator.ErrNotRunning)
	}
	ensure("it was killed", other, true)
}
