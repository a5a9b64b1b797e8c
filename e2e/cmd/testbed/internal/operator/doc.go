// Package operator builds the operator of this repository and runs it on an
// embedded cluster: for good beside the cluster's own processes, as the demo
// does, or in the foreground, as `make run` does. Either way it is a process on
// the host that authenticates as its own ServiceAccount.
package operator
