package conformance_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/runner"
	"github.com/example/operator-testbed/e2e/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(m.Run())
}

// TestThisOperator holds the operator of this repository against every point.
func TestThisOperator(t *testing.T) {
	if os.Getenv("CLUSTER") != "embedded" {
		t.Skip("this test brings a cluster up: run it with make test, or CLUSTER=embedded")
	}
	t.Setenv("TESTBED_STATE", filepath.Join(t.TempDir(), "state"))
	mapping, err := conformance.ReadMapping("mappings/operator-testbed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "operator")
	if err := runner.Build(t.Context(), ".", "../../operator/cmd", binary); err != nil {
		t.Fatal(err)
	}
	report, err := conformance.Run(t.Context(), conformance.Options{
		Operator: binary, Manifests: "../../operator/config/default", Mapping: mapping, Patience: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if holding, applying := report.Holds(); holding < applying || applying != len(report) {
		t.Errorf("%d of %d points hold, and %d apply; expected all:\n%s", holding, len(report), applying, report.Text())
	}
}
