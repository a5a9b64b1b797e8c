// The local registry of a kind cluster, and the command that makes its image.
// README.md says how to bump it.
module github.com/example/operator-testbed/kind/registry

go 1.26.0

require (
	github.com/example/operator-testbed/kind/build v0.0.0
	github.com/google/go-containerregistry v0.22.1
)

replace github.com/example/operator-testbed/kind/build => ../build
