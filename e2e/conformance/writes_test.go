package conformance

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

func TestProgressReports(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		after   []time.Duration
		reports int
	}{
		"no writes":       {nil, 0},
		"one":             {[]time.Duration{0}, 0},
		"within a second": {[]time.Duration{0, 100 * time.Millisecond, 999 * time.Millisecond}, 0},
		"over a second":   {[]time.Duration{0, 100 * time.Millisecond, 1100 * time.Millisecond, 1900 * time.Millisecond}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var writes []auditv1.Event
			for _, d := range tc.after {
				writes = append(writes, auditv1.Event{RequestReceivedTimestamp: metav1.NewMicroTime(begin.Add(d))})
			}
			NewWithT(t).Expect(progressReports(writes, time.Second)).To(Equal(tc.reports))
		})
	}
}

// A command in a pod is a POST request, but writes nothing.
func TestConnections(t *testing.T) {
	for subresource, is := range map[string]bool{"": false, "exec": true, "portforward": true, "binding": false, "status": false} {
		event := &auditv1.Event{Verb: "create", ObjectRef: &auditv1.ObjectReference{Resource: "pods", Name: "a", Subresource: subresource}}
		NewWithT(t).Expect(isConnection(event)).To(Equal(is), subresource)
	}
	NewWithT(t).Expect(isConnection(&auditv1.Event{Verb: "create"})).To(BeFalse())
}
