package bench

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/rollout"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// replicas is the size of the Deployment that is waited for.
const replicas = 3

// availableLimit is how long its pods may take. On an idle machine they take a tenth of a second.
const availableLimit = time.Minute

// untilAvailable creates a Deployment and returns when all of its pods are available.
func untilAvailable(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeoutCause(ctx, availableLimit, fmt.Errorf("the Deployment was not Available within %v", availableLimit))
	defer cancel()
	c, err := watch.NewClient(config)
	if err != nil {
		return err
	}
	deployment := watch.NewDeployment(metav1.NamespaceDefault, clusterName, replicas)
	if err := c.Create(ctx, deployment); err != nil {
		return err
	}
	_, err = rollout.Available(ctx, config, client.ObjectKeyFromObject(deployment))
	return err
}
