// Package controller makes a Memcached true: it keeps one Deployment per Memcached as the spec wants it, and tells in the
// status what it sees.
//
// Decisions are pure functions: what the Deployment should be (deployment.go), where the live one differs (drift.go),
// whose fields must become ours before an apply (ownership.go), how a refusal reads (refusal.go), which pods count
// (snapshot.go), what the status says (status.go), which event a new status is worth (events.go). The Reconciler reads, asks
// them, and writes as little as it can.
package controller
