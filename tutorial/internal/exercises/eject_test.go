package exercises_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/exercises"
)

// The tests of package eject show that a copy does not depend on this repository.
func TestEject(t *testing.T) {
	g := NewWithT(t)
	for stage, own := range map[string]string{"": "internal/metrics/metrics.go", "02-api": "api/v1alpha1/memcached_types.go"} {
		dir := filepath.Join(t.TempDir(), "mine")
		var out bytes.Buffer
		g.Expect(exercises.Eject(t.Context(), root, stage, dir, "example.com/shop/cache-operator", &out)).To(Succeed())
		g.Expect(out.String()).To(HavePrefix(dir + " is now a separate project, the module example.com/shop/cache-operator."))
		g.Expect(filepath.Join(dir, filepath.FromSlash(own))).To(BeAnExistingFile())
		g.Expect(os.ReadFile(filepath.Join(dir, "go.mod"))).To(HavePrefix("module example.com/shop/cache-operator\n"))
		g.Expect(filepath.Join(dir, "README.md")).NotTo(BeAnExistingFile())
		g.Expect(exercises.Reset(t.Context(), root, dir, &out)).To(MatchError(ContainSubstring("was not made by make start")))
	}
}

// The operators of Operator SDK that are a chart or a role have no module, so a name for it is refused.
func TestEjectChart(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	var out bytes.Buffer
	g.Expect(exercises.Eject(t.Context(), root, "18-operator-sdk/helm", dir, "example.com/shop", &out)).To(MatchError("STAGE=18-operator-sdk/helm has no Go module: leave MODULE=example.com/shop out"))
	g.Expect(dir).NotTo(BeAnExistingFile())
	g.Expect(exercises.Eject(t.Context(), root, "18-operator-sdk/helm", dir, "", &out)).To(Succeed())
	g.Expect(out.String()).To(HavePrefix(dir + " is now a separate project. In it, kubectl apply --server-side -k config/crd installs its API, and ./operator run runs it, "))
	g.Expect(filepath.Join(dir, "helm-charts", "memcached", "Chart.yaml")).To(BeAnExistingFile())
}

func TestEjectRefuses(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "mine")
	g.Expect(exercises.Eject(t.Context(), root, "", dir, "my operator", &bytes.Buffer{})).To(MatchError(HavePrefix("MODULE=my operator can't be the name of a module, give one such as example.com/")))
	for _, stage := range []string{"00-control-loop", "99-nothing"} {
		g.Expect(exercises.Eject(t.Context(), root, stage, dir, "", &bytes.Buffer{})).To(MatchError(HavePrefix("there is no operator in STAGE=" + stage + ": use one of 02-api, 03-controller, ")))
	}
	g.Expect(dir).NotTo(BeAnExistingFile())
}
