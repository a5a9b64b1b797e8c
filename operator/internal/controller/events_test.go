package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

func TestAnnouncements(t *testing.T) {
	status := func(value metav1.ConditionStatus, reason, message string) cachev1alpha1.MemcachedStatus {
		return cachev1alpha1.MemcachedStatus{Conditions: []metav1.Condition{
			{Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady},
			{Type: cachev1alpha1.ConditionDegraded, Status: value, Reason: reason, Message: message},
		}}
	}
	var (
		none    = cachev1alpha1.MemcachedStatus{}
		fine    = status(metav1.ConditionFalse, cachev1alpha1.ReasonAsExpected, "fine")
		pull    = status(metav1.ConditionTrue, cachev1alpha1.ReasonImagePullFailed, "pull")
		pullToo = status(metav1.ConditionTrue, cachev1alpha1.ReasonImagePullFailed, "pull something else")
		crash   = status(metav1.ConditionTrue, cachev1alpha1.ReasonCrashLoop, "crash")
	)
	for _, test := range []struct {
		name              string
		previous, current cachev1alpha1.MemcachedStatus
		want              announcement
	}{
		{"first status, fine", none, fine, announcement{}},
		{"first status, failing", none, pull, announcement{"Warning", "ImagePullFailed", "pull"}},
		{"still fine", fine, fine, announcement{}},
		{"fails", fine, pull, announcement{"Warning", "ImagePullFailed", "pull"}},
		{"still fails", pull, pull, announcement{}},
		{"still fails, in other words", pull, pullToo, announcement{}},
		{"fails in another way", pull, crash, announcement{"Warning", "CrashLoop", "crash"}},
		{"recovers", crash, fine, announcement{"Normal", "Recovered", "fine"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, found := announcementOf(test.previous, test.current)
			if got != test.want || found != (test.want != announcement{}) {
				t.Errorf("got %+v, %t, want %+v", got, found, test.want)
			}
		})
	}
}
