// Package bench measures how fast the testbed's clusters are and what they cost, and compares the figures with targets.
//
// Each benchmark has a file of its own (cluster.go, reset.go, kind.go). How runs are repeated (run.go), and how samples are summarized
// (stats.go) and reported (report.go), is the same for all of them.
package bench
