package main

import (
	"context"
	"errors"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/example/operator-testbed/operator/internal/controller"
)

// cachesSynced returns a check that succeeds once the cache holds everything that the reconciler reads, because it can't reconcile
// anything before. The cache starts to fill now, with every kind: otherwise the check would succeed before the controller has asked
// for the last one.
func cachesSynced(ctx context.Context, objects cache.Cache) (healthz.Checker, error) {
	for _, object := range controller.CachedKinds() {
		if _, err := objects.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	return func(request *http.Request) error {
		// This waits no longer than the client of the probe does.
		if !objects.WaitForCacheSync(request.Context()) {
			return errors.New("the caches are not synced yet")
		}
		return nil
	}, nil
}
