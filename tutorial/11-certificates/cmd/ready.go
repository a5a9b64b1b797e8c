package main

import (
	"context"
	"errors"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-certificates/api/v1alpha1"
)

// cachesFilled returns a check that succeeds when the cache has all that the controller reads. The cache is told of it here, and
// not by the controller alone: that begins only when its replica leads, and who waits to lead should have read everything.
func cachesFilled(ctx context.Context, objects cache.Cache) (healthz.Checker, error) {
	for _, object := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}, &corev1.Pod{}} {
		if _, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	return func(request *http.Request) error {
		// Until whoever asks has waited for long enough.
		if !objects.WaitForCacheSync(request.Context()) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}, nil
}
