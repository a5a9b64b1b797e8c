// Package leadership keeps a replica that may have lost its lease from writing.
//
// client-go's leader election "does not guarantee that only one client is acting as a leader (a.k.a. fencing)", according to
// https://pkg.go.dev/k8s.io/client-go/tools/leaderelection. When a leader is suspended for longer than its lease (a node that
// hangs, a debugger, SIGSTOP), another replica takes over. When the first one resumes, it may take up to the renew deadline to
// notice. Until then its reconcilers act on an outdated cache, and two replicas write.
//
// So the lock records when the lease was renewed, and every write is checked against that time just before it is sent. A write is
// allowed until the renew deadline has passed since then. The rest of the lease duration covers writes in flight, and clocks that
// run at different speeds.
//
// Two cases are not covered: a write that was sent in time and arrives after the lease has expired, and a machine that sleeps,
// because its monotonic clock stops too. In these cases it helps that each write states what it is based on: the operator creates
// by POST and applies with the UID.
package leadership
