package controller

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	// firstRetry is the time between a first failure and the next attempt. It doubles with each further failure.
	firstRetry = 5 * time.Millisecond

	// quickRetries is how many times in a row a Memcached may fail until its failure counts as one that lasts: after about a second.
	quickRetries = 8

	// quickRate and lastingRate are how many retries there are in a second, of all Memcacheds together. Those that have only just
	// failed have their own, so that they do not wait for thousands that a quota or a policy refuses for good.
	quickRate, lastingRate = 50, 10

	// retryBurst is how many retries may come at once if there were few before.
	retryBurst = 100
)

// retryLimiter says when a Memcached whose reconcile has failed is reconciled again: soon at first and then less and less often, and
// not more often than all retries together may be. A Memcached waits longer than its longest wait only if so many fail that the
// overall limit takes longer.
type retryLimiter struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	quick, lasting *rate.Limiter
}

// newRetryLimiter returns a limiter with the longest wait of one Memcached.
func newRetryLimiter(longest time.Duration) *retryLimiter {
	return &retryLimiter{
		TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, longest),
		quick:            rate.NewLimiter(quickRate, retryBurst),
		lasting:          rate.NewLimiter(lastingRate, retryBurst),
	}
}

// When implements workqueue.TypedRateLimiter.
func (l *retryLimiter) When(request reconcile.Request) time.Duration {
	overall := l.quick
	if l.NumRequeues(request) >= quickRetries {
		overall = l.lasting
	}
	return l.TypedRateLimiter.When(request) + overall.Reserve().Delay()
}

// recheckAfter is recheck for mc. While an earlier recheck of mc is still to come, it takes no other: events may call the reconciler much
// more often than there may be rechecks, and the queue keeps only the first of several times for one Memcached.
func (r *MemcachedReconciler) recheckAfter(mc *cachev1alpha1.Memcached, interval time.Duration) time.Duration {
	now := time.Now()
	if rest := r.lastWrites.nextRecheck(mc).Sub(now); rest > 0 {
		return max(rest, interval)
	}
	after := r.retries.recheck(interval)
	r.lastWrites.recordRecheck(mc, now.Add(after))
	return after
}

// recheck returns how long to wait for something that no event reports, which is interval unless too many Memcacheds wait for such
// a thing.
func (l *retryLimiter) recheck(interval time.Duration) time.Duration {
	if l == nil {
		return interval
	}
	return interval + l.lasting.Reserve().Delay()
}
