// The builder that the modules beside this one share. It uses the standard
// library only: running it compiles in a moment, and it adds nothing to the
// modules that they build from.
module github.com/example/operator-testbed/kind/build

go 1.26.0
