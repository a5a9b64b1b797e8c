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

// refusal is why the Deployment is not as desired, or has no pods, when somebody refuses it. The zero refusal is none.
type refusal struct {
	// reason and message are those of Degraded.
	reason, message string
}

// errNameTaken is what ensureDeployment returns when there is a Deployment of the Memcached's name that is not the
// Memcached's. No event says that it is gone, because the cache holds no foreign Deployments.
var errNameTaken = errors.New("the name is taken")

// refusalOf returns how the status tells of err, which kept the Deployment from being made as desired. It returns the zero
// refusal if there is nothing to tell a user: the next try may well succeed.
func refusalOf(err error) refusal {
	switch {
	case err == nil, errors.Is(err, ssa.ErrOwnershipMoved):
		return refusal{}
	case errors.Is(err, errNameTaken):
		return refusal{cachev1alpha1.ReasonNameTaken, capitalized(sentence(err.Error()))}
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

// podsRefusal returns how the status tells of the message with which the Deployment's controller says that it cannot make
// pods. An empty message is none.
func podsRefusal(message string) refusal {
	switch {
	case message == "":
		return refusal{}
	case isAboutQuota(message):
		return refusal{cachev1alpha1.ReasonQuotaExceeded, stable(message)}
	}
	return refusal{cachev1alpha1.ReasonPodsRefused, stable(message)}
}

// isAboutField returns whether the API server, or a webhook that it asked, objects to the value of a field. A policy that
// calls a request invalid names none.
func isAboutField(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field != "" })
}

func isAboutQuota(message string) bool { return strings.Contains(message, "exceeded quota") }

// generatedPod is the name of a pod, which differs from try to try, in the API server's messages. quotaUsed is how much of
// a quota is in use, which changes with what others do.
var (
	generatedPod = regexp.MustCompile(`pods "([a-z0-9.-]+-)[a-z0-9]{5}"`)
	quotaUsed    = regexp.MustCompile(`, used: .*?, limited: `)
)

// maxMessage is how long a message may be: the API server refuses events with longer ones.
const maxMessage = 1024

// stable returns the API server's message as a sentence, without what changes while the cause stays the same: else each
// try would be another status.
func stable(message string) string {
	message = generatedPod.ReplaceAllString(message, `pods "$1"`)
	message = quotaUsed.ReplaceAllString(message, ", limited: ")
	return sentence(message)
}

// sentence makes a message of an error's text: it ends with a period and is not too long.
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

// capitalized is for errors of our own; the API server's begin with the name of a resource.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// nameTaken returns the error that says so of the Memcached's name.
func nameTaken(mc *cachev1alpha1.Memcached) error {
	return fmt.Errorf("%w: the Deployment %s does not belong to this Memcached, so it is left as it is:"+
		" delete it, or give the Memcached another name", errNameTaken, nameOf(mc))
}
