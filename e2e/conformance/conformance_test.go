package conformance_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/helm"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(m.Run())
}

// TestThisOperator holds the operator of this repository, as its Helm chart deploys it, in an image, against every point. The names
// and the namespace are not those of operator/config/default, with which the suite runs.
func TestThisOperator(t *testing.T) {
	if os.Getenv("CLUSTER") != "embedded" {
		t.Skip("this test brings a cluster up: run it with make test, or CLUSTER=embedded")
	}
	t.Setenv("TESTBED_STATE", filepath.Join(t.TempDir(), "state"))
	mapping, err := conformance.ReadMapping("mappings/operator-testbed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	operator := filepath.Join(t.TempDir(), "manager")
	if err := runner.Build(t.Context(), ".", "../../operator/cmd", operator); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" { // whose programs images hold; taking it out of one is all that is different
		operator = archived(t, operator)
	}
	manifests := ofChart(t)
	program, err := conformance.Program(t.Context(), operator, manifests, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	report, err := conformance.Run(t.Context(), conformance.Options{
		Operator: program, Manifests: manifests, Mapping: mapping, Patience: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	if holding, applying := report.Holds(); holding < applying || applying != len(report) {
		t.Errorf("%d of %d points hold, and %d apply; expected all:\n%s", holding, len(report), applying, report.Text())
	}
}

// ofChart returns a file of what the chart installs.
func ofChart(t *testing.T) string {
	t.Helper()
	h, err := helm.Build(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := h.Template(t.Context(), "../../operator/dist/chart", "cache", "caches")
	if err != nil {
		t.Fatal(err)
	}
	content, err := manifests.YAML()
	if err != nil {
		t.Fatal(err)
	}
	// `helm install --create-namespace` makes the namespace.
	file := filepath.Join(t.TempDir(), "chart.yaml")
	if err := os.WriteFile(file, append([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: caches}\n---\n"), content...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// archived makes an archive, as `docker save` does, of the image that operator/Dockerfile makes of an executable.
func archived(t *testing.T, executable string) string {
	t.Helper()
	content, err := os.ReadFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	img := imagetest.FromScratch(t, runtime.GOARCH, v1.Config{Entrypoint: []string{"/manager"}}, map[string][]byte{"manager": content})
	archive := filepath.Join(t.TempDir(), "operator.tar")
	if err := tarball.WriteToFile(archive, name.MustParseReference("operator:test"), img); err != nil {
		t.Fatal(err)
	}
	return archive
}
