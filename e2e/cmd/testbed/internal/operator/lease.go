package operator

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/inventory"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// Lead waits until the operator that sup runs is the leader. A process that is ready serves only from then on, and the lease of one that
// was killed has to expire first. waits is called with the lease and its holder if it is another process, and when it becomes another one.
// Lead returns at once, with nil, if there is no leader election, if the roles do not name its lease, or if no process holds the lease. It also returns nil if the operator exits.
func Lead(ctx context.Context, config *rest.Config, sup *supervisor.Supervisor, manifests manifest.Set, waits func(lease client.ObjectKey, holder string)) error {
	manager, err := manifests.Manager()
	if err != nil {
		return err
	}
	names := inventory.LeaseNames(manifests)
	if !electsLeader(manager.Args) || len(names) != 1 {
		return nil
	}
	process, found, err := sup.Find(ctx, Name)
	if err != nil || !found {
		return err
	}
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return err
	}
	running, ended := context.WithCancel(ctx)
	defer ended()
	go func() {
		defer ended()
		_, _ = sup.Wait(running, Name) // it has ended, or running is done
	}()
	err = lead(running, c, client.ObjectKey{Namespace: manager.Deployment.Namespace, Name: names[0]}, process.Started, waits)
	if running.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// electsLeader reports whether the arguments ask for leader election. The last one of several counts.
func electsLeader(args []string) bool {
	for _, arg := range slices.Backward(args) {
		switch strings.TrimLeft(arg, "-") {
		case "leader-elect", "leader-elect=true":
			return true
		case "leader-elect=false":
			return false
		}
	}
	return false
}

// lead waits until a process of this machine holds the lease that was started at a time.
func lead(ctx context.Context, c client.WithWatch, key client.ObjectKey, started time.Time, waits func(lease client.ObjectKey, holder string)) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	waitedFor := ""
	return watch.Until(ctx, c, &coordinationv1.LeaseList{}, func(objects []client.Object) bool {
		var spec coordinationv1.LeaseSpec
		if len(objects) > 0 {
			spec = objects[0].(*coordinationv1.Lease).Spec
		}
		holder := ptr.Deref(spec.HolderIdentity, "")
		if holder == "" {
			return waitedFor == ""
		}
		// client-go's identities start with the name of the machine.
		if strings.HasPrefix(holder, host+"_") && spec.AcquireTime != nil && !spec.AcquireTime.Time.Before(started.Truncate(time.Microsecond)) {
			return true
		}
		if holder != waitedFor {
			waitedFor = holder
			waits(key, holder)
		}
		return false
	}, watch.Named(key)...)
}
