package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework/audit"
)

// Writes selects write requests from the audit log.
type Writes struct {
	// Log is the API server's audit log.
	Log *audit.Log
	// Since is the place in the log at which the selection starts.
	Since audit.Mark
	// User is the name of the user who wrote, such as the operator's.
	User string
	// Filters narrow the selection further, for example to a namespace. A request has to pass all of them.
	Filters []audit.Filter
}

func (w Writes) read() ([]auditv1.Event, error) {
	filters := append([]audit.Filter{audit.ByUser(w.User), audit.Writes}, w.Filters...)
	return w.Log.Since(w.Since, filters...)
}

// VerifyWrites checks that there are at most limit such writes, and returns them. A failure lists them. It does not wait, so call it when
// the operator is known to be done, for example because it has reconciled an object that was created later.
func VerifyWrites(_ context.Context, s *Scope, limit int, writes Writes) []auditv1.Event {
	s.Helper()
	events, err := writes.read()
	if err != nil {
		s.Fatalf("counting the writes of %s: %v", writes.User, err)
	}
	if len(events) > limit {
		s.Fatalf("%s: expected at most %d writes; last seen: %d:\n%s", writes.User, limit, len(events), audit.Describe(events))
	}
	return events
}

// VerifyDistinctWrites checks that no two consecutive writes to an object have the same body, apart from timestamps and the resource
// version of the object, because such a write changes nothing. Like [VerifyWrites], it does not wait.
//
// It compares the bodies in the audit log, which does not contain those of Secrets. It returns the objects that were changed several times
// and of which it therefore can't tell whether a change repeats another.
func VerifyDistinctWrites(_ context.Context, s *Scope, writes Writes) (unknown []string) {
	s.Helper()
	events, err := writes.read()
	if err != nil {
		s.Fatalf("comparing the writes of %s: %v", writes.User, err)
	}
	last, changes := map[string]string{}, map[string]int{}
	for i := range events {
		ref, body := events[i].ObjectRef, events[i].RequestObject
		if ref == nil {
			continue
		}
		object := fmt.Sprintf("%s %s/%s", strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/"), ref.Namespace, ref.Name)
		if body == nil {
			if events[i].Verb == "update" || events[i].Verb == "patch" {
				changes[object]++
			}
			continue
		}
		text := content(body.Raw)
		if last[object] == text {
			s.Fatalf("%s: expected each write to %s to differ from the one before; last seen twice:\n%s", writes.User, object, text)
		}
		last[object] = text
	}
	for _, object := range slices.Sorted(maps.Keys(changes)) {
		if changes[object] > 1 {
			unknown = append(unknown, object)
		}
	}
	return unknown
}

// content returns the body of a write without what is new each time.
func content(body []byte) string {
	var object map[string]any
	if json.Unmarshal(body, &object) == nil { // a JSON patch is a list
		unstructured.RemoveNestedField(object, "metadata", "resourceVersion")
		if text, err := json.Marshal(object); err == nil {
			body = text
		}
	}
	return timestamps.ReplaceAllString(string(body), "")
}

// timestamps are the fields that hold a time in what operators write.
var timestamps = regexp.MustCompile(`"(lastTransitionTime|lastUpdateTime|lastHeartbeatTime|creationTimestamp|time)":("[^"]*"|null),?`)

// RequestInput selects the write that [WaitForRequest] waits for.
type RequestInput struct {
	// What describes the write in a failure's message, such as "a patch of its status".
	What string
	// Writes selects the requests that a failure lists.
	Writes Writes
	// Match reports whether a request is the expected write.
	Match audit.Filter
}

// WaitForRequest waits until one of the writes matches. It reads the audit log repeatedly, because no watch for files works on every
// platform. The API server writes an entry just before or after its response.
func WaitForRequest(ctx context.Context, s *Scope, in RequestInput) {
	s.Helper()
	WaitFor(ctx, s, in.Writes.User, func(context.Context) error {
		events, err := in.Writes.read()
		if err != nil {
			return fmt.Errorf("reading its writes: %w", err)
		}
		for i := range events {
			if in.Match(&events[i]) {
				return nil
			}
		}
		return fmt.Errorf("expected %s in the audit log; last seen:\n%s", in.What, audit.Describe(events))
	})
}
