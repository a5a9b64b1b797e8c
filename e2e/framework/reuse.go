package framework

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/framework/inputs"
)

// The Go command reuses the result of a suite that has passed on an embedded cluster, until something changes that the result depends on:
// see package inputs.

// testbedModule is the module of this package. Only a suite in this module has all that it depends on in its module: also what pins the
// executables of the cluster.
const testbedModule = "github.com/example/operator-testbed"

// pins are the directories of the module that the cluster's executables are built from.
var pins = []string{"kind/kubernetes", "kind/build"}

// chosen are the variables that choose what a suite tests, or where. A result with one of them is never reused: they name what the Go
// command can't see, or they are for a program that reads the suite's report.
var chosen = []string{operatorVariable, imagesVariable, "MANIFESTS", reportVariable, sharedVariable, "TESTBED_ASSETS", "KEEP"}

// variables are the other ones that a result depends on.
var variables = []string{
	"CLUSTER", seedVariable, timeoutVariable, failingVariable, "TESTBED_EXPECTED", "TESTBED_GO", "TESTBED_CONFINE",
	"TESTBED_GOFLAGS", "GOFLAGS", "ENABLE_WEBHOOKS", "KUBEBUILDER_ASSETS",
}

// showInputs shows the Go command, in a test, what the result depends on.
func (s *Suite) showInputs() {
	inputs.Variables(variables...)
	inputs.Variables(chosen...)
	if s.options.Operand.Variable != "" {
		inputs.Variables(s.options.Operand.Variable)
	}
	s.inputs.Read()
}

// addFiles adds the files that the result depends on, except for those that the operator is compiled from.
func (s *Suite) addFiles() error {
	if !s.mayBeReused() {
		return nil
	}
	paths := append([]string{}, s.options.CRDs...)
	paths = append(paths, s.options.Inputs...)
	if s.options.Kustomization != "" {
		paths = append(paths, cmp.Or(s.options.Config, filepath.Dir(s.options.Kustomization)))
	}
	if s.options.Sample != "" {
		paths = append(paths, s.options.Sample)
	}
	return s.inputs.AddTree(paths...)
}

// addProgram adds the files that the operator and the executables of the cluster are compiled from.
func (s *Suite) addProgram(ctx context.Context) error {
	if !s.mayBeReused() {
		return nil
	}
	module, root, err := s.inputs.AddProgram(ctx, ".", cmp.Or(s.options.Package, "."))
	if err != nil || module != testbedModule {
		return err
	}
	for _, pin := range pins {
		if err := s.inputs.AddTree(filepath.Join(root, pin)); err != nil {
			return err
		}
	}
	s.pinned = true
	return nil
}

// mayBeReused reports whether the Go command keeps the result, and the variables let it be reused.
func (s *Suite) mayBeReused() bool {
	if !inputs.Wanted() || os.Getenv("CLUSTER") != cluster.Embedded || s.reports != nil && (s.reports.path != "" || s.reports.channel != nil) {
		return false
	}
	for _, name := range chosen {
		if os.Getenv(name) != "" {
			return false
		}
	}
	return true
}

// discardUnlessReusable keeps the Go command from reusing a result that depends on what it can't see, or on files that have changed since
// they were read.
func (s *Suite) discardUnlessReusable() error {
	if s.mayBeReused() && s.pinned && s.inputs.Beyond() == "" && len(s.inputs.Changed()) == 0 {
		return nil
	}
	return inputs.Discard()
}
