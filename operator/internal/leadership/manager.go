package leadership

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
)

// NewManager makes a manager whose client writes only while its replica surely holds the lease: until the renew deadline has
// passed since it was renewed, which the options have to name. Without leader election in the options, it is any other manager.
// What replicas write that do not lead needs another client: Unfenced. Events are not held back: they tell what was, and nobody
// acts on them.
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
	// The lock that the manager would have made. It tells of its leaders through the manager, which asks for it no earlier than
	// when it starts.
	lease.Interface, err = leaderelection.NewResourceLock(rest.CopyConfig(config), manager, leaderelection.Options{
		LeaderElection:          true,
		LeaderElectionID:        options.LeaderElectionID,
		LeaderElectionNamespace: options.LeaderElectionNamespace,
		RenewDeadline:           *options.RenewDeadline,
	})
	return manager, err
}

// Unfenced returns a client that reads from the manager's cache, as the manager's own does, and writes whoever leads.
func Unfenced(manager ctrl.Manager) (client.Client, error) {
	return client.New(manager.GetConfig(), client.Options{
		HTTPClient: manager.GetHTTPClient(),
		Scheme:     manager.GetScheme(),
		Mapper:     manager.GetRESTMapper(),
		Cache:      &client.CacheOptions{Reader: manager.GetCache()},
	})
}

// newClient makes a client that writes only while the lease lets it.
func (l *lease) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{lease: l, next: next} })
	// It is made anew, of the config. The connections are the same.
	options.HTTPClient = nil
	return client.New(config, options)
}
