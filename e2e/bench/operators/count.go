package operators

import (
	"encoding/json"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

// requests passes a user's requests that are about state: events tell, and leases elect.
func requests(user string) audit.Filter {
	return audit.All(audit.ByUser(user), audit.Not(audit.Resource("events", "")), audit.Not(audit.Resource("leases", "")))
}

// writes passes those of them that change what is in the namespace.
func writes(user string) audit.Filter {
	return audit.All(requests(user), audit.Writes, audit.InNamespace(namespace))
}

// countRequests fills in what the audit log says of a subject's requests for its objects.
func countRequests(r *Result, events []auditv1.Event) {
	r.Requests = map[string]int{}
	written := map[string]int{}
	for i := range events {
		e := &events[i]
		r.Requests[e.Verb]++
		if audit.Writes(e) && e.ObjectRef != nil && e.ObjectRef.Namespace == namespace {
			written[objectName(e)]++
		}
		if e.ResponseStatus != nil && e.ResponseStatus.Code == 409 {
			r.Conflicts++
		}
	}
	total := 0
	for _, count := range written {
		total += count
		r.WritesMax = max(r.WritesMax, count)
	}
	r.WritesMean = float64(total) / float64(r.Objects)
}

// objectName is the name of the object that a request is about. One that creates has it in its body. A Memcached and its
// Deployment have the same one.
func objectName(e *auditv1.Event) string {
	if e.ObjectRef != nil && e.ObjectRef.Name != "" {
		return e.ObjectRef.Name
	}
	var body struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if e.RequestObject != nil && json.Unmarshal(e.RequestObject.Raw, &body) == nil {
		return body.Metadata.Name
	}
	return ""
}
