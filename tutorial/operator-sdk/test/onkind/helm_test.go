// Package onkind_test runs the operators of this chapter that have no Go in them as images.
package onkind_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/kind/kindtest"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

const (
	root    = "../../../.."
	project = "../../helm"
	// operatorImage is the name in config/manager.
	operatorImage = "docker.io/library/controller:latest"
	// memcachedImage is the one in the chart's values.
	memcachedImage = "docker.io/library/memcached:1.6.39-alpine"
)

// The operator that is a chart works as an image, with the manifests, and so with the permissions and limits, that are in config/default.
func TestHelmOperatorAsImage(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	tools := sdk.Need(t, root)
	p, kubeconfig := kindtest.Start(t, "helm-operator", operatorArchive(t, tools))
	if err := p.StockAs(t.Context(), memcachedImage); err != nil {
		t.Fatal(err)
	}
	program, err := cluster.Kubectl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(arguments ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append([]string{"--kubeconfig=" + kubeconfig}, arguments...)...)
		command.Env = append(os.Environ(), "KUBECACHEDIR="+t.TempDir())
		output, err := command.CombinedOutput()
		if err != nil {
			logs, _ := exec.CommandContext(t.Context(), program, "--kubeconfig="+kubeconfig, "logs", "--namespace=operator-system", "deployment/operator-controller-manager", "--tail=50").CombinedOutput()
			t.Fatalf("%s: %v\n%s\nThe operator's log:\n%s", command, err, output, logs)
		}
		return string(output)
	}
	const memcached = "memcached/memcached-sample"
	kubectl("apply", "--server-side", "--kustomize="+filepath.Join(project, "config", "default"))
	kubectl("rollout", "status", "--namespace=operator-system", "deployment/operator-controller-manager", "--timeout=5m")
	kubectl("apply", "--filename="+filepath.Join(project, "config", "samples", "cache_v1alpha1_memcached.yaml"))
	kubectl("wait", "--for=condition=Deployed", memcached, "--timeout=5m")
	kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/memcached-sample", "--timeout=5m")
	kubectl("delete", memcached, "--timeout=5m")
	if left := kubectl("get", "deployments,secrets", "--output=name"); strings.TrimSpace(left) != "" {
		t.Errorf("the deletion has left %q behind", left)
	}
}

// operatorArchive writes an archive with the operator's image: the static program, which make sdk has built, and what it reads in its
// working directory.
func operatorArchive(t *testing.T, tools sdk.Tools) string {
	t.Helper()
	program, err := os.ReadFile(tools.Path(sdk.HelmOperator))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{sdk.HelmOperator: program}
	for _, source := range []string{"watches.yaml", "helm-charts"} {
		err := fs.WalkDir(os.DirFS(project), source, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files[path.Join("opt/helm", file)], err = os.ReadFile(filepath.Join(project, filepath.FromSlash(file)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	image := imagetest.FromScratch(t, runtime.GOARCH, v1.Config{Entrypoint: []string{"/" + sdk.HelmOperator}, WorkingDir: "/opt/helm", User: "65532:65532"}, files)
	return imagetest.Archive(t, map[string]v1.Image{operatorImage: image})
}
