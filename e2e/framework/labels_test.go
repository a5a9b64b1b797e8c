package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/e2e-framework/pkg/env"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/tier"
)

// labeled is set where this executable runs features whose labels are tested.
const labeled = "LABELS_TEST_INNER"

// onlyCapabilities is a cluster that is not there.
type onlyCapabilities struct {
	cluster.Provider
	can cluster.Capabilities
}

func (c onlyCapabilities) Capabilities() cluster.Capabilities { return c.can }

// TestLabeled runs features on a cluster that the testbed did not create.
func TestLabeled(t *testing.T) {
	if os.Getenv(labeled) == "" {
		t.Skip("run by TestLabelsAreGates")
	}
	suite := &Suite{options: Options{Name: "colors"}, reports: inherited, cluster: onlyCapabilities{can: cluster.Capabilities{RunsPods: false}}, env: env.NewWithConfig(envconf.New()).BeforeEachFeature(
		func(ctx context.Context, _ *envconf.Config, t *testing.T, _ types.Feature) (context.Context, error) {
			return context.WithValue(ctx, scopeKey{}, &Scope{T: t}), nil
		})}
	pass := func(context.Context, *Scope) {}
	for name, of := range map[string]func(f *Feature, t *testing.T){
		"breaks the cluster": func(f *Feature, t *testing.T) {
			f.WithLabel(Disruptive, DisruptsOperator).WithLabel(Disruptive, DisruptsCluster).Assess("one", pass).TestAlone(t)
		},
		"restarts the operator": func(f *Feature, t *testing.T) {
			f.WithLabel(Disruptive, DisruptsOperator).Assess("one", pass).TestAlone(t)
		},
		"needs pods":       func(f *Feature, t *testing.T) { f.WithLabel(Needs, Kubelet).Assess("one", pass).TestAlone(t) },
		"misspelled":       func(f *Feature, t *testing.T) { f.WithLabel("disruptive", "clutser").Assess("one", pass).TestAlone(t) },
		"beside others":    func(f *Feature, t *testing.T) { f.WithLabel(Disruptive, DisruptsOperator).Assess("one", pass).Test(t) },
		"of another label": func(f *Feature, t *testing.T) { f.WithLabel("contract", "anything").Assess("one", pass).TestAlone(t) },
	} {
		t.Run(name, func(t *testing.T) { of(suite.Feature(name), t) })
	}
	// A fault of the labels is seen without a cluster, too.
	without := &Suite{reports: inherited, skip: "no cluster"}
	t.Run("without a cluster", func(t *testing.T) { without.Feature("without a cluster").WithLabel(Needs, "kublet").TestAlone(t) })
}

// selected is set where this executable runs features of which a file leaves some out.
const selected = "SELECTION_TEST_INNER"

// TestSelected runs two features on a cluster whose pods really run, and on one whose pods are simulated.
func TestSelected(t *testing.T) {
	if os.Getenv(selected) == "" {
		t.Skip("run by TestSelectionIsAGate")
	}
	for name, runsPods := range map[string]bool{"real": true, "simulated": false} {
		suite := &Suite{options: Options{Name: "colors"}, cluster: onlyCapabilities{can: cluster.Capabilities{RunsPods: runsPods}}, env: env.NewWithConfig(envconf.New()).BeforeEachFeature(
			func(ctx context.Context, _ *envconf.Config, t *testing.T, _ types.Feature) (context.Context, error) {
				return context.WithValue(ctx, scopeKey{}, &Scope{T: t}), nil
			})}
		if err := suite.readSelection(); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			suite.Feature("one").Assess("holds", func(context.Context, *Scope) {}).TestAlone(t)
		})
	}
}

func TestSelectionIsAGate(t *testing.T) {
	const leftOut = "simulated: [{because: the API server decides, features: {colors: [TestSelected]}}]"
	const other = "simulated: [{because: the API server decides, features: {colors: [TestOther], sizes: [TestSelected]}}]"
	for _, c := range []struct{ file, real string }{
		{leftOut, "--- SKIP: TestSelected/real"}, {other, "--- PASS: TestSelected/real"}, {"", "--- PASS: TestSelected/real"},
	} {
		g := NewWithT(t)
		self, err := os.Executable()
		g.Expect(err).NotTo(HaveOccurred())
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestSelected$", "-test.v")
		path := ""
		if c.file != "" {
			path = filepath.Join(t.TempDir(), "selection.yaml")
			g.Expect(os.WriteFile(path, []byte(c.file), 0o600)).To(Succeed())
		}
		cmd.Env = append(os.Environ(), selected+"=yes", selectionVariable+"="+path)
		out, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", out)
		g.Expect(string(out)).To(And(ContainSubstring(c.real), ContainSubstring("--- PASS: TestSelected/simulated")), "with %q", c.file)
		if c.file == leftOut {
			g.Expect(string(out)).To(ContainSubstring("simulated pods are enough for this, because the API server decides: make test runs it on an embedded cluster, and make e2e ALL=yes on this one"))
		}
	}
}

func TestLabelsAreGates(t *testing.T) {
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "report.jsonl")
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestLabeled$", "-test.v")
	cmd.Env = append(os.Environ(), labeled+"=yes", reportVariable+"="+path)
	out, err := cmd.CombinedOutput()
	g.Expect(err).To(HaveOccurred(), "features have illegal labels, and the tests passed:\n%s", out)
	outcomes := map[string]Outcome{}
	report, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	for line := range bytes.Lines(report) {
		var feature Result
		g.Expect(json.Unmarshal(line, &feature)).To(Succeed())
		outcomes[feature.Feature] = feature.Outcome
	}
	g.Expect(outcomes).To(Equal(map[string]Outcome{
		"breaks the cluster": NotTried, "restarts the operator": Holds, "needs pods": NotTried, "of another label": Holds,
		"misspelled": NotTried, "beside others": NotTried, "without a cluster": NotTried,
	}))
	for _, want := range []string{
		"--- SKIP: TestLabeled/breaks_the_cluster", "the testbed did not create this cluster: make test runs it on an embedded cluster",
		"--- SKIP: TestLabeled/needs_pods", "pods are only simulated on this cluster", "=== ATTR  TestLabeled/needs_pods testbed.tier e2e",
		"--- FAIL: TestLabeled/misspelled", `unknown value "clutser" of the label "disruptive": use one of operator, cluster`,
		"--- FAIL: TestLabeled/beside_others", `a feature with the label "disruptive" disturbs those that run at the same time: use TestAlone`,
		"--- FAIL: TestLabeled/without_a_cluster", `unknown value "kublet" of the label "needs": use one of kubelet`,
	} {
		g.Expect(string(out)).To(ContainSubstring(want))
	}
	g.Expect(string(out)).NotTo(ContainSubstring("=== ATTR  TestLabeled/breaks_the_cluster"), "no tier runs on somebody else's cluster")
}

// TestAnotherTierProves says which tier proves what a cluster can't show.
func TestAnotherTierProves(t *testing.T) {
	g := NewWithT(t)
	g.Expect(elsewhere(cluster.Capabilities{Own: true})).To(Equal(tier.InE2E))
	g.Expect(elsewhere(cluster.Capabilities{Own: true, RunsPods: true})).To(Equal(tier.InTest))
	g.Expect(elsewhere(cluster.Capabilities{RunsPods: true})).To(BeEmpty())
}
