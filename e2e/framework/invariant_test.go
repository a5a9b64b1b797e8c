package framework_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// stored is a version of an object "x" whose condition Ready the manager "op" wrote at second written, with that transition time.
func stored(revision uint64, written int, status metav1.ConditionStatus, since int) record.Version {
	at := func(second int) string { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC).Format(time.RFC3339) }
	return record.Version{Revision: revision, Object: &unstructured.Unstructured{Object: map[string]any{
		"kind": "Thing",
		"metadata": map[string]any{"name": "x", "uid": "x", "managedFields": []any{map[string]any{
			"manager": "op", "subresource": "status", "operation": "Update", "time": at(written),
			"fieldsV1": map[string]any{"f:status": map[string]any{"f:conditions": map[string]any{`k:{"type":"Ready"}`: map[string]any{".": map[string]any{}}}}},
		}}},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Ready", "status": string(status), "lastTransitionTime": at(since), "reason": "R", "message": "because",
		}}},
	}}}
}

// by returns the version with another manager in its managed fields.
func by(manager string, v record.Version) record.Version {
	fields := v.Object.GetManagedFields()
	fields[0].Manager = manager
	v.Object.SetManagedFields(fields)
	return v
}

func TestTransitionTimes(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for name, test := range map[string]struct {
		versions []record.Version
		want     string // part of the violation; empty if there is none
	}{
		"unchanged":                        {[]record.Version{stored(1, 10, yes, 10), stored(2, 20, yes, 10)}, ""},
		"changed with the status":          {[]record.Version{stored(1, 10, yes, 10), stored(2, 20, no, 19)}, ""},
		"changed twice in a second":        {[]record.Version{stored(1, 10, yes, 10), stored(2, 10, no, 10)}, ""},
		"another manager has written it":   {[]record.Version{by("other", stored(1, 10, yes, 10)), stored(2, 20, yes, 19)}, ""},
		"changed without the status":       {[]record.Version{stored(1, 10, yes, 10), stored(2, 20, yes, 19)}, "Ready stays True, and its transition time changes from 00:00:10 to 00:00:19"},
		"not changed with the status":      {[]record.Version{stored(1, 10, yes, 5), stored(2, 20, no, 5)}, "Ready changes from True to False, and its transition time, 00:00:05, is from before"},
		"later than it was written":        {[]record.Version{stored(1, 10, yes, 11)}, "is after it was written"},
		"in the third version":             {[]record.Version{stored(1, 10, yes, 10), stored(2, 20, yes, 10), stored(3, 30, yes, 30)}, "revision 3"},
		"a condition of a different thing": {[]record.Version{{Revision: 1, Object: &unstructured.Unstructured{Object: map[string]any{"kind": "Other"}}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			invariant := framework.TransitionTimes("Thing", "op", "Ready")
			seen := framework.Seen{Versions: test.versions, Complete: true, SameClock: true}
			expectViolation(t, invariant, seen, test.want)
			if name == "later than it was written" {
				seen.SameClock = false
				expectViolation(t, invariant, seen, "")
			}
		})
	}
	incomplete := framework.Seen{Versions: []record.Version{stored(1, 10, yes, 10), stored(9, 20, yes, 19)}, SameClock: true}
	expectViolation(t, framework.TransitionTimes("Thing", "op", "Ready"), incomplete, "")
}

func expectViolation(t *testing.T, invariant framework.Invariant, seen framework.Seen, want string) {
	t.Helper()
	got := strings.Join(invariant.Violations(seen), "\n")
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("violations: %q, want %q", got, want)
	}
}

func TestStoredBefore(t *testing.T) {
	invariant := framework.StoredBefore("Thing", func(event eventsv1.Event, v record.Version) bool {
		conditions, err := framework.ConditionsOf(v.Object)
		return err == nil && conditions[0].Message == event.Note
	})
	event := func(revision, note string) eventsv1.Event {
		return eventsv1.Event{ObjectMeta: metav1.ObjectMeta{ResourceVersion: revision}, Note: note,
			Regarding: corev1.ObjectReference{Kind: "Thing", Name: "x", UID: "x"}}
	}
	of := func(e eventsv1.Event) framework.Seen {
		return framework.Seen{Versions: []record.Version{stored(7, 10, "True", 10)}, Complete: true, Events: []eventsv1.Event{e}}
	}
	expectViolation(t, invariant, of(event("8", "because")), "")
	expectViolation(t, invariant, of(event("6", "because")), `"because" about x, whose status never said so before`)
	expectViolation(t, invariant, of(event("8", "nothing")), `"nothing" about x`)
	other := event("8", "nothing")
	other.Regarding.Kind = "Pod"
	expectViolation(t, invariant, of(other), "")
	incomplete := of(event("8", "nothing"))
	incomplete.Complete = false
	expectViolation(t, invariant, incomplete, "")
	unseen := event("8", "nothing")
	unseen.Regarding.UID = "came and went"
	expectViolation(t, invariant, of(unseen), "")
}

// A key is found in each form in which a program may print it.
func TestNoKeyInLog(t *testing.T) {
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIAbcdefghijklmnopqrstuvwxyz0123456789\nMHcCAQEEIAbcdefghijklmnopqrstuvwxyz0123456789==\n-----END EC PRIVATE KEY-----\n"
	secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}, Data: map[string][]byte{
		"tls.key": []byte(key), "token": []byte("eyJhbGciOiJSUzI1NiIsImtpZCI6Im"), "ca.crt": []byte("-----BEGIN CERTIFICATE-----\nMIIBkTCB+wIJAKHHIG1234567890\n"),
		"short": []byte("word"),
	}}
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	for name, test := range map[string]struct{ line, want string }{
		"nothing":          {`{"msg":"Starting","word":"word"}`, ""},
		"a certificate":    {string(secret.Data["ca.crt"]), ""},
		"the key":          {key, "tls.key of the Secret n/s in the log of operator"},
		"a quoted key":     {fmt.Sprintf("%q", key), "tls.key of the Secret n/s"},
		"in JSON":          {fmt.Sprintf(`{"data":{"tls.key":%q}}`, encoded), "tls.key of the Secret n/s"},
		"as bytes":         {fmt.Sprint(map[string][]byte{"tls.key": []byte(key)}), "tls.key of the Secret n/s"},
		"a token":          {"Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6Im", "token of the Secret n/s"},
		"hexadecimal, too": {fmt.Sprintf("%x", key), "tls.key of the Secret n/s"},
	} {
		t.Run(name, func(t *testing.T) {
			expectViolation(t, framework.NoKeyInLog(), framework.Seen{
				Secrets: []corev1.Secret{secret}, Logs: map[string]string{"operator": "before\n" + test.line + "\nafter\n"},
			}, test.want)
		})
	}
}

func TestBoundedLog(t *testing.T) {
	const info, fault = `{"level":"info","msg":"Applying","namespace":"n-1"}` + "\n", `{"level":"error","msg":"Failed","namespace":"n-1","error":"e"}` + "\n"
	seen := func(writes int, log string) framework.Seen {
		return framework.Seen{Namespace: "n-1", Writes: make([]auditv1.Event, writes), Logs: map[string]string{"operator": log}}
	}
	invariant := framework.BoundedLog(2, 1)
	expectViolation(t, invariant, seen(2, info+fault+info+fault), "")
	expectViolation(t, invariant, seen(2, strings.Repeat(info, 3)), "")
	expectViolation(t, invariant, seen(2, strings.Repeat(info, 4)), "4 lines about the namespace with 2 writes")
	expectViolation(t, invariant, seen(9, strings.Repeat(fault, 3)), "3 errors about the namespace")
	expectViolation(t, invariant, seen(0, strings.Repeat(strings.ReplaceAll(info, "n-1", "n-2"), 2)), "")
	unknown := seen(0, strings.Repeat(info, 2))
	unknown.Writes = nil
	expectViolation(t, invariant, unknown, "")
}
