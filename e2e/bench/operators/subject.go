package operators

import "github.com/example/operator-testbed/e2e/framework/runner"

// Subject is an operator that is measured. Its custom resource is Memcached of cache.example.com/v1alpha1, with spec.size and
// spec.containerPort.
type Subject struct {
	// Name is what the report calls it.
	Name string
	// Binary is its executable.
	Binary string
	// Manifests install it.
	Manifests runner.Manifests
	// Args come behind those of the manifests.
	Args []string
}
