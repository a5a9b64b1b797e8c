// Package conformance checks what users of an operator rely on. Each check is a step of a feature. For a Memcached operator, the checks
// know only what an [Operator] describes: Go types, for the operator of this repository, or a [Mapping], for any other. The suite of this
// repository's operator uses the checks, too, so its mutants prove that they catch broken operators.
//
// The tests of this package are the suite for any operator, which consists of an executable or an image, the manifests that install it, and
// a mapping. Each point of the operator's contract is a separate feature, and if one fails, the others are still checked.
//
// The checks use only the operator's custom resource, the Deployment behind it, its pods, and the API server's audit log. An operator for
// other resources than Memcacheds needs a [Sample] instead of a mapping. Those checks of [Checks.Points] that apply to every operator then
// use copies of the sample, and the objects with owner references to them.
package conformance
