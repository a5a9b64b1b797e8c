// What a release has beside the bundles, pinned exactly: a list of what the operator is made of (SBOM), and the tests of what
// SECURITY.md promises. It is a module of its own because of the library that writes the list.
module github.com/example/operator-testbed/scripts/release

go 1.26.0

require github.com/spdx/tools-golang v0.5.7

require github.com/anchore/go-struct-converter v0.1.0 // indirect
