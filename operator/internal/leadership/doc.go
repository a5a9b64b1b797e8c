// Package leadership keeps a replica that may have lost its lease from writing.
//
// client-go's leader election "does not guarantee that only one client is acting as a leader (a.k.a. fencing)", says
// https://pkg.go.dev/k8s.io/client-go/tools/leaderelection. A leader that stands still for longer than its lease (a node that
// hangs, a debugger, SIGSTOP) is followed by another replica. When it goes on, it has a renew deadline's time to find out, and
// until then its reconcilers work on what they saw before: two replicas write.
//
// So the lock notes when the lease was renewed, and each write is measured against that just before it is sent. The renew
// deadline is the limit. What is left until the lease ends is for a write that is on its way, and for clocks that do not go
// equally fast.
//
// Two things are beyond this: a write that was sent and arrives after the end of the lease, and a machine that sleeps, whose
// monotonic clock sleeps too. Against these it helps that a write says what it builds on: the operator creates by POST and
// applies with the UID.
package leadership
