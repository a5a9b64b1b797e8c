package v1alpha1

import (
	"maps"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

// recordCreator returns the annotations of a Memcached that the user creates. They name the user, even if they named somebody
// else before.
func recordCreator(annotations map[string]string, user string) map[string]string {
	recorded := maps.Clone(annotations)
	if recorded == nil {
		recorded = map[string]string{}
	}
	recorded[cachev1alpha1.AnnotationRequestedBy] = user
	return recorded
}

// keepCreator returns the annotations of a Memcached that is being updated, with the creator's name as it was before the update.
// A Memcached that was created while the webhooks were off names no creator, and an update can't add one.
func keepCreator(before, after map[string]string) map[string]string {
	was, wasThere := before[cachev1alpha1.AnnotationRequestedBy]
	is, isThere := after[cachev1alpha1.AnnotationRequestedBy]
	if was == is && wasThere == isThere {
		return after
	}
	if wasThere {
		return recordCreator(after, was)
	}
	kept := maps.Clone(after)
	delete(kept, cachev1alpha1.AnnotationRequestedBy)
	return kept
}
