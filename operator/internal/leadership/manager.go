package leadership

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
)

// NewManager returns a manager whose client writes only while this replica is certain to hold the lease: until the renew
// deadline, which the options must set, has passed since the last renewal. Without leader election in the options, it returns an
// ordinary manager. Replicas that write without leading need another client: see Unfenced. Events are not held back, because they
// describe the past and nothing acts on them.
func NewManager(config *rest.Config, options ctrl.Options) (ctrl.Manager, error) {
	if !options.LeaderElection {
		return ctrl.NewManager(config, options)
	}
	lease := &lease{limit: *options.RenewDeadline, clock: clock.RealClock{}}
	options.LeaderElectionResourceLockInterface = lease
	options.NewClient = lease.newClient
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	// This is the lock that the manager would have created. It records its events through the manager, so it can't be created
	// earlier; the manager uses it only after it starts.
	lease.Interface, err = leaderelection.NewResourceLock(rest.CopyConfig(config), manager, leaderelection.Options{
		LeaderElection:          true,
		LeaderElectionID:        options.LeaderElectionID,
		LeaderElectionNamespace: options.LeaderElectionNamespace,
		RenewDeadline:           *options.RenewDeadline,
	})
	return manager, err
}

// Unfenced returns a client that reads from the manager's cache, as the manager's own client does, and writes no matter who
// leads.
func Unfenced(manager ctrl.Manager) (client.Client, error) {
	return client.New(manager.GetConfig(), client.Options{
		HTTPClient: manager.GetHTTPClient(),
		Scheme:     manager.GetScheme(),
		Mapper:     manager.GetRESTMapper(),
		Cache:      &client.CacheOptions{Reader: manager.GetCache()},
	})
}

// newClient returns a client that writes only while the lease allows it.
func (l *lease) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{lease: l, next: next} })
	// The client builds its HTTP client from config. The connections are shared all the same.
	options.HTTPClient = nil
	return client.New(config, options)
}
