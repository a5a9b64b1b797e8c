// Package conformance is what users of any Memcached operator rely on, as checks that depend on nothing of the operator except what an
// [Operator] says: types, for the operator of this repository, or a [Mapping], for anybody's. Each check is a step of a feature. The
// operator's own suite uses them beside its own steps, so each is known to catch broken operators.
//
// The tests of this package are the suite for any operator, which is given as an executable or an image, the manifests that install it,
// and a mapping. Each point of the operator's contract is a feature of its own, and none keeps another from being checked.
//
// The checks use nothing but the operator's custom resource, the Deployment behind it, its pods, and the API server's audit log. An operator
// of anything else than Memcacheds is given with a [Sample] in place of a mapping. The checks of [Checks.Points] that are about every
// operator then use copies of the sample, and what has an owner reference to them.
package conformance
