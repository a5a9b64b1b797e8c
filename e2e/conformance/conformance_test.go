package conformance_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/helm"
	"github.com/example/operator-testbed/e2e/tier"
)

var (
	suite  *framework.Suite
	checks conformance.Checks
)

// TestMain runs the suite with the operator that `testbed conformance` has prepared: its executable is $OPERATOR, its manifests are
// $MANIFESTS, and its API is what $MAPPING says, or it is given by $SAMPLE, and $COMPANIONS that the sample
// refers to. $FROM is the executable of the version before, and $FROM_MANIFESTS are its manifests. Without them it is the operator of this
// repository. With $TESTBED_IMAGES, it is the image that the manifests name.
func TestMain(m *testing.M) {
	supervisor.Main()
	runner.Main()
	// Errors alone go to stderr. The API server's warnings don't: what the checks do to the operator's objects is meant.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	code, err := run(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the suite conformance: %v\n", err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	var kinds []schema.GroupVersionKind
	if path := os.Getenv("SAMPLE"); path != "" {
		checks.Operator, err = conformance.ReadSample(path, filepath.SplitList(os.Getenv("COMPANIONS"))...)
	} else {
		var mapping conformance.Mapping
		mapping, err = conformance.ReadMapping(cmp.Or(os.Getenv("MAPPING"), "mappings/operator-testbed.yaml"))
		checks.Operator = mapping
		kinds = append(kinds, mapping.GVK(), appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Pod"))
	}
	if err != nil {
		return 1, err
	}
	inPods := os.Getenv("TESTBED_IMAGES") != ""
	if os.Getenv("CLUSTER") != "" && os.Getenv("OPERATOR") == "" && !inPods {
		work, err := os.MkdirTemp("", "conformance-")
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
		if err := prepareOurs(context.Background(), work); err != nil {
			return 1, err
		}
	}
	if before := os.Getenv("FROM"); before != "" || os.Getenv("FROM_MANIFESTS") != "" {
		checks.Before = &conformance.Prepared{Binary: before, Manifests: cmp.Or(os.Getenv("FROM_MANIFESTS"), os.Getenv("MANIFESTS"))}
	}
	manifests, trial := os.Getenv("MANIFESTS"), ""
	if inPods {
		directory, err := os.MkdirTemp("", "conformance-trial-")
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
		if trial, err = writeTrial(directory); err != nil {
			return 1, err
		}
	}
	suite = framework.New(framework.Options{
		Name:          "conformance",
		Sample:        trial,
		CRDs:          []string{manifests},
		Package:       "../../operator/cmd",
		Config:        manifests,
		Kustomization: manifests,
		Progress:      os.Stderr,
		Record:        kinds,
	})
	return suite.Run(m), nil
}

func TestPoints(t *testing.T) {
	tier.All(t)
	if !t.Run("gate", func(t *testing.T) { suite.Feature(conformance.Gate).Assess("holds", checks.Served).TestAlone(t) }) {
		return
	}
	for _, last := range []bool{false, true} {
		t.Run(map[bool]string{false: "points", true: "last"}[last], func(t *testing.T) { // which is over when all in it are
			for _, p := range checks.Points() {
				if p.Last == last {
					t.Run(p.Claim, func(t *testing.T) { p.Test(t, suite) })
				}
			}
		})
	}
}

// writeTrial writes the object with which webhooks are tried to a file in the directory.
func writeTrial(directory string) (file string, err error) {
	content, err := yaml.Marshal(checks.New("", "trial", 1, 11211))
	if err != nil {
		return "", err
	}
	file = filepath.Join(directory, "trial.yaml")
	return file, os.WriteFile(file, content, 0o600)
}

// prepareOurs makes the operator of this repository ready, as its Helm chart deploys it, in an image. The names and the namespace are
// not those of operator/config/default, with which the operator's own suite runs.
func prepareOurs(ctx context.Context, work string) error {
	operator := filepath.Join(work, "manager")
	if err := runner.Build(ctx, ".", "../../operator/cmd", operator); err != nil {
		return err
	}
	if runtime.GOOS == "linux" { // whose programs images hold; taking it out of one is all that is different
		archive := filepath.Join(work, "operator.tar")
		if err := archived(operator, archive); err != nil {
			return err
		}
		operator = archive
	}
	chart := filepath.Join(work, "chart.yaml")
	if err := renderChart(ctx, chart); err != nil {
		return err
	}
	prepared := filepath.Join(work, "prepared")
	if err := os.Mkdir(prepared, 0o700); err != nil {
		return err
	}
	ours, err := conformance.Foreign{Operator: operator, Manifests: chart}.Prepare(ctx, prepared)
	if err != nil {
		return err
	}
	return errors.Join(os.Setenv("OPERATOR", ours.Binary), os.Setenv("MANIFESTS", ours.Manifests))
}

// renderChart writes what the chart installs to a file.
func renderChart(ctx context.Context, file string) error {
	h, err := helm.Build(ctx, "../..")
	if err != nil {
		return err
	}
	manifests, err := h.Template(ctx, "../../operator/dist/chart", "cache", "caches")
	if err != nil {
		return err
	}
	content, err := manifests.YAML()
	if err != nil {
		return err
	}
	// `helm install --create-namespace` makes the namespace.
	return os.WriteFile(file, append([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: caches}\n---\n"), content...), 0o600)
}

// archived makes an archive, as `docker save` does, of the image that operator/Dockerfile makes of an executable.
func archived(executable, archive string) error {
	content, err := os.ReadFile(executable)
	if err != nil {
		return err
	}
	img, err := imagetest.New(runtime.GOARCH, v1.Config{Entrypoint: []string{"/manager"}}, map[string][]byte{"manager": content})
	if err != nil {
		return err
	}
	return crane.Save(img, "operator:test", archive)
}
