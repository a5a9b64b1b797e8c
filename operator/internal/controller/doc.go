// Package controller reconciles Memcacheds: it keeps one Deployment per Memcached as the spec asks for, and reports in the status
// what it observes.
//
// Decisions are pure functions: what the Deployment should be (deployment.go), what a refusal means to a user (refusal.go), which
// pods count (snapshot.go), whether they fail (failure.go) or take too long (deadline.go), what the status says (status.go), and
// which event a new status deserves (events.go). Package ssa compares Deployments and applies them. The Reconciler reads, calls
// these functions, and writes as little as it can.
package controller
