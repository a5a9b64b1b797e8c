package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// Responses of the API server.
var (
	errQuota = apierrors.NewForbidden(deployments, testName,
		errors.New("exceeded quota: small, requested: count/deployments.apps=1, used: count/deployments.apps=3, limited: count/deployments.apps=3"))

	errPermission = apierrors.NewForbidden(deployments, "",
		errors.New(`user "operator" cannot create resource "deployments" in API group "apps" in the namespace "team"`))

	errField = apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, testName,
		field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), -1, "must be greater than or equal to 0")})

	// errPolicy is the refusal of a ValidatingAdmissionPolicy that sets no reason.
	errPolicy = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: 422,
		Message: `deployments.apps "sessions" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no caches here`,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "no caches here"}}},
	}}

	errNamespace = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: 403,
		Message: `deployments.apps "sessions" is forbidden: unable to create new content in namespace team because it is being terminated`,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
)

func TestRefusalOf(t *testing.T) {
	for _, test := range []struct {
		name            string
		err             error
		reason, message string
	}{
		{"nothing", nil, "", ""},
		{"name taken", nameTaken(testMemcached(1)), cachev1alpha1.ReasonNameTaken,
			"The name is taken: the Deployment team/sessions does not belong to this Memcached, so it is left as it is: delete it, or give the Memcached another name."},
		{"quota", errQuota, cachev1alpha1.ReasonQuotaExceeded,
			`deployments.apps "sessions" is forbidden: exceeded quota: small, requested: count/deployments.apps=1, limited: count/deployments.apps=3.`},
		{"missing permission", errPermission, cachev1alpha1.ReasonForbidden,
			`deployments.apps is forbidden: user "operator" cannot create resource "deployments" in API group "apps" in the namespace "team".`},
		{"wrapped", fmt.Errorf("reading: %w", errPermission), cachev1alpha1.ReasonForbidden,
			`reading: deployments.apps is forbidden: user "operator" cannot create resource "deployments" in API group "apps" in the namespace "team".`},
		{"policy", errPolicy, cachev1alpha1.ReasonForbidden, errPolicy.ErrStatus.Message + "."},
		{"bad request", apierrors.NewBadRequest("no"), cachev1alpha1.ReasonForbidden, "no."},
		{"field", errField, cachev1alpha1.ReasonInvalid,
			`Deployment.apps "sessions" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0.`},
		{"spec", fmt.Errorf("%w: spec.size is 9", errInvalidSpec), cachev1alpha1.ReasonInvalid, "The spec is invalid: spec.size is 9."},
		{"fields changed hands", fmt.Errorf("%w: %w", ssa.ErrOwnershipMoved, errField), "", ""},
		{"conflict", apierrors.NewConflict(deployments, testName, errors.New("uid")), "", ""},
		{"not found", apierrors.NewNotFound(deployments, testName), "", ""},
		{"server error", apierrors.NewInternalError(errors.New("etcd")), "", ""},
		{"too many requests", apierrors.NewTooManyRequests("wait", 1), "", ""},
		{"no answer", errors.New("connection refused"), "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := refusalOf(test.err)
			if got.reason != test.reason || got.message != test.message {
				t.Errorf("got %q: %s\nwant %q: %s", got.reason, got.message, test.reason, test.message)
			}
		})
	}
}

// The Deployment's controller keeps retrying, with another pod name each time, while the use of the quota changes.
func TestPodsRefusalIsStable(t *testing.T) {
	quota := `pods "sessions-755d5f57d7-%s" is forbidden: exceeded quota: small, requested: pods=1, used: pods=%d, limited: pods=3`
	first, second := podsRefusal(fmt.Sprintf(quota, "8js7t", 3), testName), podsRefusal(fmt.Sprintf(quota, "x6qc9", 4), testName)
	want := refusal{cachev1alpha1.ReasonQuotaExceeded,
		`pods "sessions-755d5f57d7-" is forbidden: exceeded quota: small, requested: pods=1, limited: pods=3.`}
	if first != want || second != want {
		t.Errorf("got %+v and %+v, want both to be %+v", first, second, want)
	}

	security := podsRefusal(`pods "a-4-8js7t" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`, "a")
	if security.reason != cachev1alpha1.ReasonPodsRefused || !strings.HasPrefix(security.message, `pods "a-4-" is forbidden`) {
		t.Errorf("got %+v, want %s", security, cachev1alpha1.ReasonPodsRefused)
	}
	if none := podsRefusal("", testName); none != (refusal{}) {
		t.Errorf("got %+v, want none", none)
	}
}

// A webhook or policy may name what is new at each attempt, such as the UID of the pod that it refuses. The cause is still the same.
func TestSameCause(t *testing.T) {
	const message = "denied at 2026-11-27T13:00:01.5Z: pod d9b2d63d-a233-4123-847a-7a5a9e1ea0e5 has limit 3"
	for _, test := range []struct {
		name, message string
		want          bool
	}{
		{"nothing", message, true},
		{"a UID", strings.Replace(message, "d9b2d63d", "0a1b2c3d", 1), true},
		{"a time", strings.Replace(message, "T13:00:01.5Z", "T13:07:31Z", 1), true},
		{"a number", strings.ReplaceAll(message, "3", "4"), false},
		{"a word", strings.Replace(message, "limit", "size", 1), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := sameCause(message, test.message); got != test.want {
				t.Errorf("got %t, want %t: %s", got, test.want, test.message)
			}
		})
	}
}

// The API server cuts the generated name of a pod to 63 characters, so a long one has no dash before the random characters. A webhook
// may name the pod anywhere in its message.
func TestWithoutPodNames(t *testing.T) {
	const (
		long   = "cache-for-the-sessions-of-the-web-shop-in-eu-north" // 50 characters
		cut    = long + "-755d5f5"                                    // 58
		longer = "cache-for-the-sessions-of-the-big-web-shop-in-europe-north1-abc"
	)
	for _, test := range []struct{ name, deployment, message, want string }{
		{"short", "a", `pods "a-755d5f57d7-8js7t" is forbidden`, `pods "a-755d5f57d7-" is forbidden`},
		{"cut within the hash", long, `pods "` + cut + `8js7t" is forbidden`, `pods "` + cut + `" is forbidden`},
		{"cut within the name", longer, `pods "` + longer[:58] + `x6qc9" is forbidden`, `pods "` + longer[:58] + `" is forbidden`},
		{"elsewhere", "a", "pod team/a-755d5f57d7-8js7t (a-755d5f57d7-x6qc9) is not wanted.", "pod team/a-755d5f57d7- (a-755d5f57d7-) is not wanted."},
		{"at the end", "a", "no to a-755d5f57d7-8js7t", "no to a-755d5f57d7-"},
		{"a pod of another Deployment", "b", `pods "a-755d5f57d7-8js7t"`, `pods "a-755d5f57d7-8js7t"`},
		{"a name that is not generated", "a", `quota "a-eu-north"`, `quota "a-eu-north"`},
		{"the ReplicaSet", "a", `replicasets "a-755d5f57d7"`, `replicasets "a-755d5f57d7"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := withoutPodNames(test.message, test.deployment); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestLongestMessage(t *testing.T) {
	longest := strings.Repeat("x", maxMessage-1) + "."
	if got := sentence(longest); got != longest {
		t.Errorf("a message of %d bytes becomes one of %d", len(longest), len(got))
	}
	if got, want := sentence(longest+"."), longest[:maxMessage-len("…")]+"…"; got != want {
		t.Errorf("a message of %d bytes ends with %q, want %q", maxMessage+1, got[len(got)-10:], want[len(want)-10:])
	}
}

func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"", "a", "a.", strings.Repeat("ä", 600), "\xff", `pods "a-8js7t", used: , limited: `, strings.Repeat("x", maxMessage-1), "10.0.0.1:55012->[::1]:443", ":1:2->:3->"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := stable(withoutPodNames(text, "a"))
		if len(got) > maxMessage || !utf8.ValidString(got) {
			t.Errorf("stable(%q) = %q: %d bytes, valid UTF-8: %t", text, got, len(got), utf8.ValidString(got))
		}
		if again := stable(withoutPodNames(got, "a")); again != got {
			t.Errorf("stable(%q) = %q, and of that %q", text, got, again)
		}
		if strings.TrimSpace(text) != "" && got == "" {
			t.Errorf("stable(%q) is empty", text)
		}
	})
}
