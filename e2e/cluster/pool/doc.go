// Package pool shares embedded clusters between suites that run one after another. Starting a cluster takes as many CPU seconds as a small
// suite, and a suite can't tell a cluster that was renewed ([embedded.Provider.Renew]) from one that was started for it.
//
// One process owns the clusters: [Start]. A suite asks it for one over a socket: [Borrow]. The suite has the cluster for as long as the
// connection lasts, which the kernel closes when the suite exits, however it exits. So the owner never waits for a suite that was killed.
// What a suite leaves in its cluster is removed before the next one gets it. A cluster that can't be renewed is replaced.
//
// Nobody waits for a cluster: there are as many as suites that run at the same time. They are attached to the owner, and stop with it,
// even when it is killed. A suite whose cluster goes away in this way learns it from [Loan.Lost].
package pool
