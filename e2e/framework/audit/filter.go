package audit

import (
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Filter reports whether an event is of interest.
type Filter func(*auditv1.Event) bool

// All passes what every filter passes; without filters it passes everything.
func All(filters ...Filter) Filter {
	return func(e *auditv1.Event) bool {
		for _, pass := range filters {
			if !pass(e) {
				return false
			}
		}
		return true
	}
}

// Not passes what filter does not pass.
func Not(filter Filter) Filter {
	return func(e *auditv1.Event) bool { return !filter(e) }
}

// ByUser passes requests of the user of that name, for example
// "system:serviceaccount:operator-system:operator-controller-manager".
func ByUser(name string) Filter {
	return func(e *auditv1.Event) bool { return e.User.Username == name }
}

// ByProgram passes requests of the program of that name, with which the user agents of Kubernetes clients begin.
func ByProgram(name string) Filter {
	return func(e *auditv1.Event) bool { return strings.HasPrefix(e.UserAgent, name+"/") }
}

// writeVerbs are the verbs that change an object. The API server logs a server-side apply as "patch".
var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// Writes passes requests that ask for a change, whether it was granted or not: a write that changes nothing
// and a write that is refused cost the API server the same as any other.
func Writes(e *auditv1.Event) bool { return slices.Contains(writeVerbs, e.Verb) }

// InNamespace passes requests about objects in the namespace.
func InNamespace(name string) Filter {
	return func(e *auditv1.Event) bool { return e.ObjectRef != nil && e.ObjectRef.Namespace == name }
}

// Resource passes requests about that resource (plural, lower case) and subresource ("" for the object itself).
func Resource(resource, subresource string) Filter {
	return func(e *auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Resource == resource && e.ObjectRef.Subresource == subresource
	}
}

// About passes requests about objects of that name. The name of an object that is created may be in the request's body only.
func About(name string) Filter {
	return func(e *auditv1.Event) bool {
		return e.ObjectRef != nil && e.ObjectRef.Name == name ||
			e.RequestObject != nil && strings.Contains(string(e.RequestObject.Raw), `"name":"`+name+`"`)
	}
}

// Code passes requests that were answered with the HTTP status code.
func Code(code int32) Filter {
	return func(e *auditv1.Event) bool { return e.ResponseStatus != nil && e.ResponseStatus.Code == code }
}

// Forbidden passes requests that were refused because of a missing permission. It does not pass the creation of an object in a namespace
// that is being deleted, which is also answered with 403.
func Forbidden(e *auditv1.Event) bool {
	return Code(http.StatusForbidden)(e) &&
		!apierrors.HasStatusCause(&apierrors.StatusError{ErrStatus: *e.ResponseStatus}, corev1.NamespaceTerminatingCause)
}

// ReceivedAfter passes requests that the API server received later than that. One of a process that has ended since may be
// answered, and logged, after its end.
func ReceivedAfter(begin time.Time) Filter {
	return func(e *auditv1.Event) bool { return e.RequestReceivedTimestamp.After(begin) }
}
