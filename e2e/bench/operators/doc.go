// Package operators measures Memcached operators against each other, and against a floor: a client that does nothing but
// create the Deployments and write a status for each.
//
// Every subject gets, for every number of objects, an embedded cluster of its own. What it asks of the API server is counted
// in the audit log, so a number of requests is exact; times and memory are of one run on one machine, and compare only with
// each other.
package operators
