package controller

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// requestNamed is the request of a Memcached, by its number.
func requestNamed(i int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}}
}

// busiest returns the largest number of times within one second.
func busiest(times []time.Duration) (most int) {
	slices.Sort(times)
	first := 0
	for last := range times {
		for times[last]-times[first] >= time.Second {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

func TestAllRetriesTogetherHaveALimit(t *testing.T) {
	const objects, longest = 5000, 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		limiter := newRetryLimiter(longest)
		for attempt := range quickRetries {
			var times []time.Duration
			for i := range objects {
				times = append(times, limiter.When(requestNamed(i)))
			}
			if most := busiest(times); most > retryBurst+quickRate {
				t.Errorf("attempt %d: %d retries within a second, want at most %d", attempt, most, retryBurst+quickRate)
			}
			<-time.After(slices.Max(times) + retryBurst*time.Second/quickRate)
		}
		var times []time.Duration
		for i := range objects {
			times = append(times, limiter.When(requestNamed(i)))
		}
		if most := busiest(times); most > retryBurst+lastingRate {
			t.Errorf("%d retries of lasting failures within a second, want at most %d", most, retryBurst+lastingRate)
		}
		// One that has only just failed does not wait for them.
		if delay := limiter.When(requestNamed(objects)); delay != firstRetry {
			t.Errorf("the first retry of another Memcached comes after %s, want %s", delay, firstRetry)
		}
		for range objects {
			times = append(times, limiter.recheck(longest))
		}
		if most := busiest(times); most > retryBurst+lastingRate {
			t.Errorf("%d retries and rechecks within a second, want at most %d", most, retryBurst+lastingRate)
		}
	})
}

// A single Memcached is retried soon, and then at least as often as its longest wait says.
func TestRetriesOfOneMemcached(t *testing.T) {
	const longest = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		limiter := newRetryLimiter(longest)
		want := firstRetry
		for attempt := range 50 {
			if delay := limiter.When(requestNamed(1)); delay != want {
				t.Errorf("attempt %d comes after %s, want %s", attempt, delay, want)
			}
			<-time.After(want)
			want = min(2*want, longest)
		}
		limiter.Forget(requestNamed(1))
		if delay := limiter.When(requestNamed(1)); delay != firstRetry {
			t.Errorf("after a success, the first retry comes after %s, want %s", delay, firstRetry)
		}
		if delay := limiter.recheck(longest); delay != longest {
			t.Errorf("a recheck comes after %s, want %s", delay, longest)
		}
	})
}

// However often events call the reconciler meanwhile, a Memcached that waits for a recheck takes only one from all of them.
func TestEventsTakeNoRechecksFromOthers(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.reconciler.retries = newRetryLimiter(testRecheck)
		f.newDeployment(func(*appsv1.Deployment) {})
		for range 2 * retryBurst {
			f.reconcile()
			if f.recheck != testRecheck {
				t.Fatalf("the operator checks again after %s, want %s", f.recheck, testRecheck)
			}
		}
		if tokens := f.reconciler.retries.lasting.Tokens(); tokens != retryBurst-1 {
			t.Errorf("others have %v rechecks left, want %d", tokens, retryBurst-1)
		}

		<-time.After(testRecheck)
		f.reconcile()
		if tokens := f.reconciler.retries.lasting.Tokens(); tokens != retryBurst-1 {
			t.Errorf("after the recheck, others have %v left, want %d", tokens, retryBurst-1)
		}
	})
}
