// What a release has beside the bundles, pinned exactly: a list of what the operator is made of (SBOM), a check for known
// vulnerabilities, and the tests of what SECURITY.md promises. It is a module of its own because of the library that writes the
// list, and apart from scripts/lint because bundles carry its modules: `make test-all` runs what is here.
module github.com/example/operator-testbed/scripts/release

go 1.26.0

// x/vuln asks for this version, and the module proxy has its go.mod but not
// its files: the next older one that the graph asks for is chosen.
exclude golang.org/x/telemetry v0.0.0-20261010193011-f71dc92da45e

tool golang.org/x/vuln/cmd/govulncheck

require github.com/spdx/tools-golang v0.5.7

require (
	github.com/anchore/go-struct-converter v0.1.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/telemetry v0.0.0-20261009151841-97e8ea77aa2a // indirect
	golang.org/x/tools v0.52.0 // indirect
	golang.org/x/vuln v1.9.0 // indirect
)
