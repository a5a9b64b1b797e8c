package controller

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
	"github.com/example/operator-testbed/operator/internal/ssa"
)

// refusal is why something keeps the Deployment from being as desired, or from having pods. The zero refusal means that nothing
// does.
type refusal struct {
	// reason and message are those of the condition Degraded.
	reason, message string
}

// errNameTaken is what ensureDeployment returns when a Deployment that this Memcached does not own has its name. No event reports
// that it is gone, because the cache holds no foreign Deployments.
var errNameTaken = errors.New("the name is taken")

// refusalOf returns the refusal for err, which kept the Deployment from being as desired. It returns the zero refusal for an error
// that is not a refusal, because the next attempt may well succeed; MemcachedReconciler.refusalOf reports it if it lasts.
func refusalOf(err error) refusal {
	switch {
	case err == nil, errors.Is(err, ssa.ErrOwnershipMoved):
		return refusal{}
	case errors.Is(err, errNameTaken):
		return refusal{cachev1alpha1.ReasonNameTaken, capitalized(sentence(err.Error()))}
	case isOverwritten(err):
		return refusal{cachev1alpha1.ReasonFieldsOverwritten, capitalized(sentence(err.Error()))}
	case errors.Is(err, errInvalidSpec):
		return refusal{cachev1alpha1.ReasonInvalid, capitalized(sentence(err.Error()))}
	case isAboutField(err):
		return refusal{cachev1alpha1.ReasonInvalid, stable(err.Error())}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		if isAboutQuota(err.Error()) {
			return refusal{cachev1alpha1.ReasonQuotaExceeded, stable(err.Error())}
		}
		return refusal{cachev1alpha1.ReasonForbidden, stable(err.Error())}
	}
	return refusal{}
}

// refusalOf returns why the Deployment of the snapshot's Memcached is not as desired, given the error of ensureDeployment. An
// error that is not a refusal may not occur at the next attempt, so it counts only if it has lasted, or if the last status reports
// one already.
func (r *MemcachedReconciler) refusalOf(s snapshot, err error) refusal {
	refused := refusalOf(err)
	if err == nil || refused.reason != "" {
		r.lastWrites.recordNoFailure(s.memcached)
		return refused
	}
	lasts := r.lastWrites.recordFailure(s.memcached, s.now, r.FailureGrace)
	if lasts || degradedOf(s.previous).Reason == cachev1alpha1.ReasonWriteFailed {
		return refusal{cachev1alpha1.ReasonWriteFailed, stable(err.Error())}
	}
	return refusal{}
}

// podsRefusal returns the refusal for the message with which the Deployment's controller reports that it cannot create pods of the
// Deployment of that name. An empty message is not a refusal.
func podsRefusal(message, deployment string) refusal {
	message = withoutPodNames(message, deployment)
	switch {
	case message == "":
		return refusal{}
	case isAboutQuota(message):
		return refusal{cachev1alpha1.ReasonQuotaExceeded, stable(message)}
	}
	return refusal{cachev1alpha1.ReasonPodsRefused, stable(message)}
}

// isAboutField reports whether the API server, or a webhook that it called, objects to the value of a field. A policy that calls
// a request invalid does not name a field.
func isAboutField(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field != "" })
}

func isAboutQuota(message string) bool { return strings.Contains(message, "exceeded quota") }

// quotaUsed matches how much of a quota is in use, which changes with other workloads. localPort matches the port from which the API
// server connected to a webhook, which differs with every connection. word matches what may be the name of an object. ofAttempt matches
// UIDs and times, which a webhook or a policy may take from an object or a request that is another one at each attempt.
var (
	quotaUsed    = regexp.MustCompile(`, used: .*?, limited: `)
	localPort    = regexp.MustCompile(`(?::[0-9]+)+->`)
	ofAttempt    = regexp.MustCompile(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9:.]+`)
	word         = regexp.MustCompile(`[a-z0-9.-]+`)
	generated    = regexp.MustCompile(`^[` + generatedRunes + `]{1,10}-$`)
	allGenerated = regexp.MustCompile(`^[` + generatedRunes + `]{5}$`)
)

// maxMessage is the longest message that the API server accepts in an event.
const maxMessage = 1024

// stable returns the API server's error message as a sentence, without the parts that change while the cause stays the same.
// Otherwise each attempt would change the status.
func stable(message string) string {
	message = quotaUsed.ReplaceAllString(message, ", limited: ")
	message = localPort.ReplaceAllString(message, "->")
	return sentence(message)
}

// sameCause reports whether two messages differ in nothing but UIDs and times. Unlike what stable leaves out, these may be what users
// need to read, so the first of several such messages stays as it is.
func sameCause(a, b string) bool {
	return ofAttempt.ReplaceAllString(a, "") == ofAttempt.ReplaceAllString(b, "")
}

// The API server generates the name of a pod: the name of its ReplicaSet and a dash, cut to a length, and five random characters.
// See k8s.io/apiserver/pkg/storage/names and k8s.io/apimachinery/pkg/util/rand.
const (
	generatedRunes  = "bcdfghjklmnpqrstvwxz2456789"
	randomLength    = 5
	maxGeneratedFor = 63 - randomLength
)

// withoutPodNames returns a message without the random characters in names of pods of a Deployment, wherever they stand. They differ
// with every attempt to create a pod.
func withoutPodNames(message, deployment string) string {
	return word.ReplaceAllStringFunc(message, func(name string) string {
		end := len(name) - randomLength
		if end <= 0 || !allGenerated.MatchString(name[end:]) {
			return name
		}
		// A pod's ReplicaSet is called like its Deployment, with a dash and a hash.
		base, prefix := name[:end], deployment+"-"
		hash, isLong := strings.CutPrefix(base, prefix)
		if isLong && generated.MatchString(hash) ||
			end == maxGeneratedFor && strings.HasPrefix(base, prefix[:min(len(prefix), end)]) {
			return base
		}
		return name
	})
}

// sentence returns the text of an error as a message that ends with a period and is not too long.
func sentence(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")
	if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// capitalized is for the operator's own errors. The API server's error messages start with the name of a resource.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// nameTaken returns an errNameTaken for the Deployment of mc, with advice.
func nameTaken(mc *cachev1alpha1.Memcached) error {
	return fmt.Errorf("%w: the Deployment %s does not belong to this Memcached, so it is left as it is:"+
		" delete it, or give the Memcached another name", errNameTaken, nameOf(mc))
}
