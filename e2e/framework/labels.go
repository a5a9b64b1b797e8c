package framework

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/e2e-framework/pkg/types"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/framework/selection"
	"github.com/example/operator-testbed/e2e/tier"
)

// selectionVariable is the environment variable with the path of a file that says which features to leave out where pods really run: see
// package selection.
const selectionVariable = "TESTBED_SELECTION"

// The labels of a feature that decide on which clusters it runs. Elsewhere its test is skipped.
const (
	// Disruptive is the label of a feature that disturbs others. It runs alone.
	Disruptive = "disruptive"
	// Needs is the label of a feature that needs something which not every cluster has.
	Needs = "needs"
)

// Values of the label [Disruptive].
const (
	// DisruptsOperator is for a feature that stops or restarts the operator under test, or changes how it runs or what it may do. Such a
	// feature runs on every cluster, because it changes only what the run has created.
	DisruptsOperator = "operator"
	// DisruptsCluster is for a feature that changes what all users of the cluster share: CustomResourceDefinitions, nodes, the control
	// plane. Such a feature never runs on a cluster that the testbed did not create.
	DisruptsCluster = "cluster"
)

// Kubelet is the value of the label [Needs] for a feature about pods that really run. It is skipped where pods are simulated.
const Kubelet = "kubelet"

// legalValues are the values that a label may have. Other labels may have any.
var legalValues = map[string][]string{
	Disruptive: {DisruptsOperator, DisruptsCluster},
	Needs:      {Kubelet},
}

// legalLabel returns an error for a value that a label can't have.
func legalLabel(key, value string) error {
	if values, limited := legalValues[key]; limited && !slices.Contains(values, value) {
		return fmt.Errorf("unknown value %q of the label %q: use one of %s", value, key, strings.Join(values, ", "))
	}
	return nil
}

// legalTogether returns an error for labels that do not fit how a feature runs.
func legalTogether(labels types.Labels, parallel bool) error {
	if parallel && len(labels[Disruptive]) > 0 {
		return fmt.Errorf("a feature with the label %q disturbs those that run at the same time: use TestAlone", Disruptive)
	}
	return nil
}

// gate returns why a feature with the labels can't run on a cluster, and the tier that runs it elsewhere, if there is one. Without a
// reason, it can.
func gate(labels types.Labels, can cluster.Capabilities) (reason string, by tier.Tier) {
	switch {
	case slices.Contains(labels[Disruptive], DisruptsCluster) && !can.Own:
		return "this changes what all users of the cluster share, and the testbed did not create this cluster: make test runs it on an embedded cluster, and make e2e ALL=yes on a kind cluster", ""
	case slices.Contains(labels[Needs], Kubelet) && !can.RunsPods:
		return "pods are only simulated on this cluster, and this is about pods that really run: make e2e runs it on a kind cluster", tier.InE2E
	default:
		return "", ""
	}
}

// elsewhere returns the tier that proves what the testbed's own cluster of one kind can't show. It is empty for a cluster that the testbed
// did not create.
func elsewhere(can cluster.Capabilities) tier.Tier {
	switch {
	case !can.Own:
		return ""
	case can.RunsPods:
		return tier.InTest
	default:
		return tier.InE2E
	}
}

// leftOut returns why the features of a test are left out on a cluster whose pods really run, and the tier that runs them elsewhere.
// Without a reason, they are not.
func (s *Suite) leftOut(test string) (reason string, by tier.Tier) {
	if !s.cluster.Capabilities().RunsPods {
		return "", ""
	}
	test, _, _ = strings.Cut(test, "/")
	because := s.selection.LeftOut(s.options.Name, test)
	if because == "" {
		return "", ""
	}
	return fmt.Sprintf("simulated pods are enough for this, because %s: make test runs it on an embedded cluster, and make e2e ALL=yes on this one", because), tier.InTest
}

// readSelection reads the file that says which features to leave out where pods really run, if there is one.
func (s *Suite) readSelection() (err error) {
	if path := os.Getenv(selectionVariable); path != "" {
		s.selection, err = selection.Read(path)
	}
	return err
}
