// Package conformance runs the portable part of the Memcached suite against somebody else's operator: an executable, the
// manifests that install it, and a mapping that says what its API calls what. Each point of the operator's contract is a claim
// of its own, checked in a namespace of its own, and none keeps another from being checked.
//
// The points ask about what any Memcached operator's users rely on, so they use nothing but the operator's custom resource, the
// Deployment behind it, its pods, and the API server's audit log.
package conformance
