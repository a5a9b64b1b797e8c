package operators

import (
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

// requests passes a user's requests that are about state, unlike events and leases.
func requests(user string) audit.Filter {
	return audit.All(audit.ByUser(user), audit.Not(audit.Resource("events", "")), audit.Not(audit.Resource("leases", "")))
}

// writes passes those of them that change objects in the namespace.
func writes(user string) audit.Filter {
	return audit.All(requests(user), audit.Writes, audit.InNamespace(namespace))
}

// countRequests fills in how often a subject has made requests for its objects.
func countRequests(r *Result, events []auditv1.Event) {
	r.Requests = map[string]int{}
	for i := range events {
		e := &events[i]
		r.Requests[e.Verb]++
		if e.ResponseStatus != nil && e.ResponseStatus.Code == 409 {
			r.Conflicts++
		}
	}
	r.WritesMean, r.WritesMax = writesPerObject(events, r.Objects)
}

// writesPerObject returns how many of the requests are writes for one of n objects: the mean and the largest number.
func writesPerObject(events []auditv1.Event, n int) (mean float64, most int) {
	written := map[string]int{}
	total := 0
	for i := range events {
		if e := &events[i]; audit.Writes(e) && e.ObjectRef != nil && e.ObjectRef.Namespace == namespace {
			written[e.ObjectRef.Name]++ // a Memcached and its Deployment have the same name
			most = max(most, written[e.ObjectRef.Name])
			total++
		}
	}
	return float64(total) / float64(n), most
}
