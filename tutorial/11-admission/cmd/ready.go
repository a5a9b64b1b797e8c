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

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

// cachesFilled returns a check that succeeds when the cache holds everything that the controller reads. The cache starts to read
// it here, because the controller asks for it only once its replica leads, and a replica that takes over should be ready.
func cachesFilled(ctx context.Context, objects cache.Cache) (healthz.Checker, error) {
	for _, object := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}, &corev1.Pod{}} {
		if _, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	return func(request *http.Request) error {
		// This waits no longer than the client of the probe does.
		if !objects.WaitForCacheSync(request.Context()) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}, nil
}
