package sdk_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster/kind/kindtest"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

// untarImage is what scorecard unpacks the bundle with.
const untarImage = "example.com/untar:1"

// Scorecard's tests have the same results in pods, where operator-sdk runs them, as they have as processes.
func TestScorecardInPods(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	tools := sdk.Need(t, root)
	want := map[string]bool{}
	results, err := tools.Scorecard(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		want[r.Test] = r.Passed
	}

	_, kubeconfig := kindtest.Start(t, "scorecard", scorecardImages(t, tools))
	printed, err := tools.Run(t.Context(), t.TempDir(), sdk.OperatorSDK, "scorecard", absolute(t, bundle), "--kubeconfig="+kubeconfig, "--namespace=default",
		"--untar-image="+untarImage, "--wait-time=5m", "--output=json")
	var list struct {
		Items []struct {
			Spec   struct{ Entrypoint []string }
			Status struct{ Results []struct{ State string } }
		}
	}
	if unreadable := json.Unmarshal(printed, &list); unreadable != nil {
		t.Fatalf("operator-sdk scorecard printed %s (%v), %v", printed, unreadable, err)
	}
	got := map[string]bool{}
	for _, item := range list.Items {
		passed := len(item.Status.Results) > 0
		for _, r := range item.Status.Results {
			passed = passed && r.State == "pass"
		}
		got[item.Spec.Entrypoint[1]] = passed
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("which tests pass as processes and in pods (-processes +pods):\n%s\n%s", diff, printed)
	}
}

// scorecardImages writes an archive with the images that scorecard's pods are made of. Their names are those that the bundle's
// configuration and the test give to operator-sdk, so nothing is pulled.
func scorecardImages(t *testing.T, tools sdk.Tools) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(bundle, "tests", "scorecard", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Stages []struct{ Tests []struct{ Image string } }
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(tools.Path(sdk.ScorecardTest))
	if err != nil {
		t.Fatal(err)
	}
	untar := filepath.Join(t.TempDir(), "tar")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", untar, "./untar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	unpacks, err := os.ReadFile(untar)
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for reference, files := range map[string]map[string][]byte{
		config.Stages[0].Tests[0].Image: {"usr/local/bin/" + sdk.ScorecardTest: tests},
		untarImage:                      {"usr/local/bin/tar": unpacks},
	} {
		images[reference] = imagetest.FromScratch(t, runtime.GOARCH, v1.Config{Env: []string{"PATH=/usr/local/bin"}}, files)
	}
	return imagetest.Archive(t, images)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
