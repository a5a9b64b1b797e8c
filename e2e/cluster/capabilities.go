package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// Capabilities are what can be done with a cluster. The fields of what it can't do are nil, empty or false.
type Capabilities struct {
	// Own is true for a cluster that the testbed has created, so that nothing in it is anybody else's. Tests may break it, and delete
	// whatever is in it.
	Own bool
	// RunsPods is false if pods are simulated.
	RunsPods bool
	// CallsHost is true if the API server can call a webhook on this machine's 127.0.0.1. A cluster in containers has its own
	// loopback interface.
	CallsHost bool
	// HostAddress returns the address at which the API server reaches this machine, or "" if it can't.
	HostAddress func(ctx context.Context) (string, error)
	// AuditLog is the path of the API server's audit log, in JSON lines.
	AuditLog string
	// Kept is a sentence on how to reach the cluster that Destroy leaves up, and how to take it down.
	Kept string
	// Lost is closed when a cluster that somebody else owns has gone, before Destroy gives it back.
	Lost <-chan struct{}
	// Processes supervises the cluster's processes on this machine. Others can run beside them.
	Processes *supervisor.Supervisor
	// Control acts on a component of the control plane, such as KubeAPIServer.
	Control func(ctx context.Context, component string, action Action) error
	// Compact compacts etcd: only the last version of each object is left.
	Compact func(ctx context.Context) error
	// Stored returns what etcd holds of a resource of a group, such as "cache.example.com/memcacheds", by namespace and name.
	Stored func(ctx context.Context, resource string) (map[string][]byte, error)
	// LoadImage brings an image of Docker's to every node, and LoadImageArchive the images of an archive, such as docker save
	// writes it. They take no args.
	LoadImage        func(ctx context.Context, image string, args ...string) error
	LoadImageArchive func(ctx context.Context, archive string, args ...string) error
	// Stock brings an image to every node and returns its name: the one that the environment variable names; or the given one,
	// where it is at hand or can be pulled; or one like it, made from source.
	Stock func(ctx context.Context, variable, image string) (string, error)
	// StockAs does so for manifests that name the image: what is made from source gets its name, too.
	StockAs func(ctx context.Context, image string) error
	// Signal sends a signal, such as "KILL", to the processes in a pod that are called program, or to all if program is empty.
	Signal func(ctx context.Context, pod *corev1.Pod, program, signal string) error
	// StopNode stops a node as a loss of power does, and StartNode starts it again.
	StopNode  func(ctx context.Context, node string) error
	StartNode func(ctx context.Context, node string) error
}

// Components of a cluster, to act on with Control.
const (
	Etcd                  = embedded.Etcd
	KubeAPIServer         = embedded.KubeAPIServer
	KubeControllerManager = embedded.KubeControllerManager
	KubeScheduler         = embedded.KubeScheduler
	Kwok                  = embedded.Kwok
)

// Action is what Control does to a component.
type Action string

// Actions on a component.
const (
	// Kill kills a component (SIGKILL), as if it had crashed. It is restarted after a short pause.
	Kill Action = "kill"
	// Stop stops a component until Start.
	Stop Action = "stop"
	// Start starts a component unless it runs.
	Start Action = "start"
	// Restart stops a component and starts it again.
	Restart Action = "restart"
	// Pause stops a component where it is (SIGSTOP): it answers nothing, and its connections stay open.
	Pause Action = "pause"
	// Resume continues a paused component.
	Resume Action = "resume"
)

type embeddedCluster struct {
	*embedded.Provider

	lost <-chan struct{} // nil where it is ours
}

// Capabilities of host processes: their control plane is within reach, and their pods run nothing.
func (c embeddedCluster) Capabilities() Capabilities {
	return Capabilities{
		Own: true, CallsHost: true, AuditLog: c.AuditLog(), Processes: c.Supervisor(), Control: c.control, Compact: c.Compact,
		Stored: c.Stored, Lost: c.lost,
	}
}

func (c embeddedCluster) control(ctx context.Context, component string, action Action) error {
	processes := c.Supervisor()
	act, known := map[Action]func(context.Context, string) error{
		Kill: processes.Kill, Stop: processes.Stop, Start: processes.StartAgain, Restart: processes.Restart,
		Pause: processes.Pause, Resume: processes.Resume,
	}[action]
	if !known {
		return fmt.Errorf("unknown action %q on %s", action, component)
	}
	return act(ctx, component) // its errors name both
}

type kindCluster struct{ *kind.Provider }

// Capabilities of containers: their nodes run images that are brought to them, and can be stopped.
func (c kindCluster) Capabilities() Capabilities {
	return Capabilities{
		Own: true, RunsPods: true, HostAddress: c.HostAddress, AuditLog: c.AuditLog(), Kept: c.Kept(),
		LoadImage: c.LoadImage, LoadImageArchive: c.LoadImageArchive, Stock: c.Stock, StockAs: c.StockAs,
		Signal: c.Signal, StopNode: c.StopNode, StartNode: c.StartNode,
	}
}

type existingCluster struct{ *existing.Provider }

// Capabilities of a cluster that the testbed did not create: nothing is known of it but what the API server says.
func (c existingCluster) Capabilities() Capabilities { return Capabilities{RunsPods: c.RunsPods()} }
