// Package bench measures what the testbed promises in numbers, and holds the numbers against the aims.
//
// What is measured is in a file of its own (cluster.go); how samples are summarized (stats.go) and told (report.go) is the same
// for every benchmark.
package bench
